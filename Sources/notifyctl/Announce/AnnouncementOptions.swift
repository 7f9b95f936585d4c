import ArgumentParser
import NotifyClient

/// What happens to an announced value at its beginning and its end: options of `announce` and of `post --ephemeral`.
struct AnnouncementOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A message to post after the announced value was cleared because the connection has ended.",
            valueName: "body"))
    var will: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "The time to connect again before the announced value is cleared, at most 10m; 0 by default.",
            valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var grace: Duration?

    @Flag(
        help: """
            Take the announced value over from a client of this user or, with the right to manage everything, of any.
            """)
    var takeover = false

    /// Whether an option was given.
    var areGiven: Bool { will != nil || grace != nil || takeover }
}

extension Announcer {
    init(name: String, payload: [UInt8], object: String?, headers: [Header], _ options: AnnouncementOptions) {
        self.init(
            name: name, payload: payload, object: object, headers: .init(headers),
            will: options.will.map { Array($0.utf8) }, grace: options.grace ?? .zero, takesOver: options.takeover)
    }
}

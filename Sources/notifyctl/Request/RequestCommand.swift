import ArgumentParser
import Glibc
import NotifyClient

struct RequestCommand: AsyncParsableCommand, ContentTaking {
    static let configuration = CommandConfiguration(
        commandName: "request",
        abstract: "Ask a server, and print its reply.",
        discussion: """
            Only clients that serve the name are asked, such as 'notifyctl serve', and one of them gets the request. \
            Requests are never stored.

            The exit statuses of the outcomes are:

              0    the reply was printed
              1    the server has answered with an error, or the reply can't be printed
              69   no server serves the name, or there is no daemon
              75   the server, the daemon or a connection has ended; a limit is reached
              77   this user may not post the name or open the socket
              124  the time limit has passed

            After 1, 124, and 75 without a limit, the server may have executed the request. After 64 to 69 and 77, it was \
            not executed.

            Without a content argument the content is read from standard input. It is empty if standard input is a \
            terminal, /dev/null or closed.

            EXAMPLES
              notifyctl request jobs.status 42
              notifyctl request user.$(id -u).echo 'hello' --timeout 500ms
              notifyctl request images.resize --file ./photo.jpg >small.jpg
            """)

    @OptionGroup var connection: ConnectionOptions

    @Argument(help: "The name of the request, such as jobs.status.")
    var name: String

    @Argument(help: "The content; '-' for all of standard input, the default if standard input is a pipe or a file.")
    var body: String?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("Read the content from a file; '-' is standard input.", valueName: "file"),
        completion: .file()
    )
    var file: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("The time limit of the reply, 1ms to 1h; 5s by default.", valueName: "span"),
        transform: { try SpanArgument.span($0) })
    var timeout = Duration.seconds(5)

    @Option(
        name: [.customShort("H"), .long],
        help: ArgumentHelp("A header; may be given several times.", valueName: "key:value"),
        transform: Header.init(argument:))
    var header: [Header] = []

    @Flag(help: "Print the reply as a JSON object, with its headers and the ids of the server.")
    var json = false

    private var content: MessageContent { MessageContent(argument: body, file: file) }

    func validate() throws {
        try UserNames.check([name])
        try content.validate()
        guard timeout >= .milliseconds(1), timeout <= .seconds(3600) else {
            throw ValidationError("--timeout must be 1ms to 1h")
        }
    }

    func run() async throws {
        let payload = try await content.payload()
        let reply = try await reply(payload, .init(header))
        var output = StandardOutput()
        if json {
            output.append(Self.json(reply) + "\n")
        } else if isatty(STDOUT_FILENO) == 1, let text = reply.text {
            output.append(text.hasSuffix("\n") || text.isEmpty ? text : text + "\n")
        } else {
            reply.payload.withUnsafeBytes { output.append($0) }
        }
        try output.flush()
    }

    private func reply(
        _ payload: [UInt8], _ headers: NotificationClient.Headers
    ) async throws -> NotificationClient.Reply {
        do {
            return try await withNotificationClient(configuration: connection.configuration()) { client in
                try await client.request(name, payload, headers: headers, timeout: timeout)
            }
        } catch {
            throw Self.failure(error)
        }
    }

    /// The error to report. If the daemon ends, the request may have been executed, as if its server had ended: the
    /// status is the same, and not that of a server that has answered with an error.
    static func failure(_ error: any Error) -> any Error {
        guard let error = error as? NotifyError, error.code == .outcomeUnknown else { return error }
        return CommandFailure(.refusedForNow, error.message)
    }

    static func json(_ reply: NotificationClient.Reply) -> String {
        var json = JSONWriter()
        json.object { json in
            json.member("uid", reply.uid)
            json.member("gid", reply.gid)
            json.member("pid", reply.pid)
            json.member("headers", reply.headers)
            json.member("payload", text: reply.text, payload: reply.payload)
        }
        return String(decoding: json.bytes, as: UTF8.self)
    }
}

import FoundationEssentials
package import Logging

/// A log handler that writes each record as one line.
package struct LineLogHandler: LogHandler {
    package var metadata: Logger.Metadata = [:]
    package var metadataProvider: Logger.MetadataProvider?
    private let label: String
    private let destination: LogDestination
    /// The level set for this logger alone. If `nil`, the destination's level applies, which a reload may change.
    private var ownLevel: Logger.Level?

    package init(label: String, destination: LogDestination) {
        self.label = label
        self.destination = destination
    }

    package var logLevel: Logger.Level {
        get { ownLevel ?? destination.level.loggerLevel }
        set { ownLevel = newValue }
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        destination.write(line(for: event, at: Date()))
    }

    func line(for event: LogEvent, at time: Date) -> String {
        var line = Self.beginning(event.level, label: label, destination.format, at: time)
        // The message is escaped, so that a client can't forge log lines.
        line += event.message.description.singleLine
        var all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }
        all.merge(event.metadata ?? [:]) { $1 }
        if let error = event.error { all["error"] = "\(error)" }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            line += " " + "\(key)=\(value)".singleLine
        }
        line += "\n"
        return line
    }

    /// The beginning of a record: the priority, or the time and the level; then the label.
    static func beginning(
        _ level: Logger.Level, label: String, _ format: LogDestination.Format, at time: Date = Date()
    ) -> String {
        switch format {
        case .journal: "<\(level.journalPriority)>\(label): "
        case .timestamped: "\(time.formatted(Self.timeStyle)) \(level) \(label): "
        }
    }

    private static let timeStyle = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
}

extension Logger.Level {
    /// The syslog priority, by which the journal filters.
    fileprivate var journalPriority: Int {
        switch self {
        case .trace, .debug: 7
        case .info: 6
        case .notice: 5
        case .warning: 4
        case .error: 3
        case .critical: 2
        }
    }
}

import Logging
import NotifyCenter
import NotifyWire
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct LoggingTests {
    private struct Record: Sendable {
        var level: Logger.Level
        var message: String
        var metadata: Logger.Metadata
    }

    /// A log handler that keeps the records.
    private struct Handler: LogHandler {
        let records: Inbox<Record>
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            records.put(
                Record(level: event.level, message: "\(event.message)", metadata: event.metadata ?? [:]))
        }
    }

    @Test func `a lost connection and a gap are warnings with metadata`() async throws {
        let records = Inbox<Record>()
        let logger = Logger(label: "test") { _ in Handler(records: records) }
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path), logger: logger) { client in
                let first = try await daemon.accept()
                let connected = try await records.next()
                #expect(connected.level == .debug && connected.metadata["notify.daemon_version"] == "fake")
                try await first.close()
                let lost = try await records.next()
                #expect(lost.level == .warning)
                #expect(lost.metadata["notify.socket"] == "\(daemon.path)")
                #expect(lost.metadata["notify.error_code"] == "connectionLost")
                #expect(lost.metadata["notify.retry_in"] != nil)
                let second = try await daemon.accept()
                _ = try await records.next()
                async let opening = client.subscribe(to: ["a.*"])
                try await second.acceptSubscription()
                second.send { buffer in
                    Gap(subscription: 0, dropped: 2, range: SequenceRange(first: 1, last: 2)).write(to: &buffer)
                    buffer.writeDelivery(3)
                }
                _ = try await opening.messages().first { _ in true }
                let gap = try await records.next()
                #expect(gap.level == .warning)
                #expect(gap.metadata["notify.gap_reason"] == "connectionTooSlow")
                #expect(gap.metadata["notify.missed"] == "2")
                #expect(gap.metadata["notify.patterns"] == .array(["a.*"]))
            }
        }
    }

    @Test func `a connection that the daemon ends with an error is logged as lost`() async throws {
        let records = Inbox<Record>()
        let logger = Logger(label: "test") { _ in Handler(records: records) }
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path), logger: logger) { _ in
                let first = try await daemon.accept()
                _ = try await records.next()
                first.send(ErrorFrame(code: .tooSlow, message: "too slow", isFatal: true))
                let lost = try await records.next()
                #expect(lost.level == .warning && lost.metadata["notify.error_code"] == "tooSlow")
            }
        }
    }

    @Test func `the description of an error has its code`() {
        #expect("\(NotifyError(.logFull, "the log is full"))" == "logFull: the log is full")
    }
}

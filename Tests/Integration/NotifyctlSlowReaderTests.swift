import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl subscribe` into a pipe that is read more slowly than messages are posted.
    @Suite struct NotifyctlSlowReaderTests {
        /// The smaller number of messages fits into the buffers of notifyctl and the daemon. Of the larger number, the
        /// daemon drops some messages and counts them.
        @Test(arguments: [(50_000, false), (200_000, true)])
        func `printed messages and reported drops add up to all posts`(count: Int, isDropping: Bool) async throws {
            let daemon = try await Daemon.start(
                environment: ["NOTIFYD_LIMITS_PER_CONNECTION_OUTBOX_BYTES": "4194304"])
            let notifyctl = Notifyctl(daemon)
            let (gate, errors) = (daemon.folder.file("gate"), daemon.folder.file("errors"))
            mkfifo(gate, 0o600)
            // The reader waits until the gate is opened, and then counts the lines before the last one.
            let reader = """
                import sys
                open(sys.argv[1]).read()
                count = disordered = last = 0
                for line in sys.stdin.buffer:
                    if line == b"end\\n":
                        break
                    number = int(line.split()[0])
                    count += 1
                    disordered += number <= last
                    last = number
                print(count, disordered)
                """
            let script = "notifyctl subscribe a 2> \(errors) | python3 -c '\(reader)' \(gate)"
            async let reading = notifyctl.shell(script)
            try daemon.waitForSubscriptions(1)
            let lines = (1...count).map { "\($0) of many\n" }.joined() + "end\n"
            let posted = try await notifyctl.run("post", "a", "--lines", "--quiet", input: .text(lines))
            #expect(posted.status == .status(0), "\(posted.errors)")
            #expect(try await notifyctl.shell("echo > \(gate)").status == .status(0))

            let counts = try await reading.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            try #require(counts.count == 2)
            #expect(counts[1] == 0)
            let reported = try String(contentsOfFile: errors, encoding: .utf8)
            let missed = reported.matches(of: /dropped (\d+) message/).compactMap { Int($0.output.1) }.reduce(0, +)
            #expect(counts[0] + missed == count, "\(reported)")
            let statistics = try RawClient(daemon).statistics()
            #expect(statistics["dropped"] == UInt64(missed))
            #expect(statistics["dropped_by_clients"] == 0)
            #expect((missed > 0) == isDropping)
        }
    }
}

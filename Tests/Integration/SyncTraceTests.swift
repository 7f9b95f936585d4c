import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The system calls of `synced` posts.
    @Suite(.enabled(if: Requirements.canTrace)) struct SyncTraceTests {
        /// The traced system calls, in the order in which they returned.
        private enum Call: Equatable {
            /// The write-ahead log was flushed to disk.
            case sync
            /// This number of bytes was sent to a client.
            case answer(Int)
        }

        private static let receiptBytes = 40
        private static let pongBytes = 16

        @Test func `every synced receipt follows a flush`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let calls = try await trace(daemon, by: client) {
                for _ in 0..<20 {
                    let receipt = try client.post("safe", durability: .synced)
                    #expect(receipt.durability == .synced)
                }
            }
            var isFlushed = false
            var receipts = 0
            for call in calls {
                switch call {
                case .sync: isFlushed = true
                case .answer(let bytes):
                    #expect(bytes == Self.receiptBytes)
                    #expect(isFlushed)
                    isFlushed = false
                    receipts += 1
                }
            }
            #expect(receipts == 20)
        }

        @Test func `every batch of receipts follows a flush`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            let before = try client.statistics()
            let calls = try await trace(daemon, by: client) {
                let receipts = try client.pipeline(5000, name: "safe", durability: .synced)
                #expect(receipts.count == 5000)
            }
            let after = try client.statistics()
            let commits = after["commits", default: 0] - before["commits", default: 0]
            let syncs = after["syncs", default: 0] - before["syncs", default: 0]
            let flushes = calls.count { $0 == .sync }
            #expect(calls.first == .sync)
            #expect(commits >= 1 && commits < 500)
            #expect(flushes >= commits)
            #expect(syncs == commits)
            let bytes = calls.reduce(0) { if case .answer(let bytes) = $1 { $0 + bytes } else { $0 } }
            #expect(bytes == 5000 * Self.receiptBytes)
        }

        @Test func `stored posts do not wait for the disk`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            // This post reserves the sequences of later posts, and the reservation is flushed to disk.
            try client.post("quick", durability: .stored)
            let before = try client.statistics()
            #expect(try client.pipeline(1000, name: "quick", durability: .stored).count == 1000)
            let after = try client.statistics()
            #expect(after["commits", default: 0] > before["commits", default: 0])
            #expect(after["syncs"] == before["syncs"])
        }

        /// Traces the daemon with strace while `body` runs. `body` must have received all answers when it returns.
        private func trace(_ daemon: Daemon, by client: RawClient, _ body: () throws -> Void) async throws -> [Call] {
            let strace = try ChildProcess(
                "strace",
                [
                    "-f", "-y", "-p", "\(daemon.process.pid)", "-o", "/dev/stderr", "-e",
                    "trace=fsync,fdatasync,write,writev,sendto,sendmsg",
                ])
            // strace stops all threads before it prints the first line that contains "attached", so it traces all
            // threads from that line on.
            _ = try await strace.standardError.wait("strace to attach") {
                $0.text.contains("attached") ? true : nil
            }
            try body()
            // A client may get an answer before strace has printed the call that sent it. The daemon sends from one
            // thread, so strace prints all earlier calls before the pong.
            try client.ping()
            let calls = try await strace.standardError.wait("strace to print the pong") {
                let calls = Self.calls(in: $0.text)
                return calls.last == .answer(Self.pongBytes) ? calls.dropLast() : nil
            }
            strace.send(SIGINT)
            try await strace.waitForExit()
            return Array(calls)
        }

        /// Parses lines such as `123 fdatasync(9</tmp/notifyd.db-wal>) = 0`. A call that overlaps a call of another
        /// thread has two lines, which begin with the same thread: the first has the file, and the second the result.
        private static func calls(in text: String) -> [Call] {
            var unfinished: [Substring: Substring] = [:]
            return text.split(separator: "\n").compactMap { line in
                let thread = line.prefix { $0 != " " }
                if line.hasSuffix("<unfinished ...>") {
                    unfinished[thread] = line
                    return nil
                }
                let beginning = line.contains(" resumed>") ? unfinished.removeValue(forKey: thread) ?? line : line
                guard let result = line.split(separator: "= ").last.flatMap({ Int($0) }), result >= 0 else {
                    return nil
                }
                if beginning.contains("sync(") { return beginning.contains("-wal>") ? .sync : nil }
                return beginning.contains("<UNIX") || beginning.contains("<socket:") ? .answer(result) : nil
            }
        }
    }
}

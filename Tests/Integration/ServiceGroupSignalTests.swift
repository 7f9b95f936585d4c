import Foundation
import NotifyWire
import Testing
import WireTestSupport

extension IntegrationTests {
    /// A program with a client and a consumer in a service group, ended by the signals of a service manager.
    @Suite struct ServiceGroupSignalTests {
        /// Longer than any shutdown takes, and shorter than `never`.
        private static let bound = Duration.seconds(120)
        /// A timeout that no test reaches, in milliseconds.
        private static let never = 3_600_000

        private let daemon: Daemon
        private let poster: RawClient

        init() async throws {
            daemon = try await Daemon.start()
            poster = try RawClient(daemon)
            try poster.subscribe("a", durable: "d")
            try poster.detach()
        }

        /// Posts a message, starts the program, and returns when the program's handler has received the message.
        private func start(
            _ handler: String, shutdown: Int = never, cancellation: Int = never
        ) async throws -> (process: ChildProcess, sequence: UInt64) {
            let sequence = try poster.post("a", "1").sequence
            let process = try ChildProcess(
                Programs.serviceGroupProgram, [daemon.socket, handler, "\(shutdown)", "\(cancellation)"],
                environment: ["SWIFT_BACKTRACE": "enable=no"])
            #expect(try await process.waitForLines(1) == ["1"])
            return (process, sequence)
        }

        /// Returns the subscription once no client is attached to it.
        private func subscription() throws -> SubscriptionEntry {
            while true {
                let entry = try #require(try poster.list().first)
                if entry.pid == 0 { return entry }
            }
        }

        @Test func `SIGTERM ends the service with status 0 and commits every acknowledgement`() async throws {
            let (process, sequence) = try await start("returns")
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: Self.bound) == .status(0))
            #expect(try subscription().cursor == sequence)
        }

        @Test func `a blocked handler is cancelled after the shutdown timeout`() async throws {
            let (process, sequence) = try await start("waits", shutdown: 100)
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: Self.bound) == .status(1))
            #expect(try subscription().cursor < sequence)
        }

        @Test func `a blocked handler is cancelled by the cancellation signal`() async throws {
            let (process, sequence) = try await start("waits")
            process.send(SIGTERM)
            // Different signals that are pending together arrive in any order.
            #expect(try await process.waitForLines(2) == ["1", "shutting down"])
            // The group ignores the second SIGTERM.
            process.send(SIGTERM)
            process.send(SIGINT)
            #expect(try await process.waitForExit(within: Self.bound) == .status(1))
            #expect(try subscription().cursor < sequence)
        }

        @Test func `a handler that ignores cancellation ends with the process`() async throws {
            let (process, sequence) = try await start("hangs", shutdown: 100, cancellation: 100)
            process.send(SIGTERM)
            let exit = try await process.waitForExit(within: Self.bound)
            // The signal of `fatalError` depends on the processor.
            #expect(exit == .signal(SIGILL) || exit == .signal(SIGTRAP))
            expectText(process.standardError.current.text, "Cancellation took longer")
            #expect(try subscription().cursor < sequence)
        }
    }
}

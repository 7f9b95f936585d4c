import Foundation
import Testing

/// A run of notifyd with given arguments. The daemon may refuse to start.
struct NotifydRun: Sendable {
    let process: ChildProcess
    let manager: ServiceManager

    /// A launcher that passes its standard input to the daemon as the socket of a service manager.
    static let passingSocket = ["sh", "-c", "LISTEN_FDS=1 LISTEN_PID=$$ exec \"$@\" 3<&0 </dev/null", "sh"]

    /// - Parameters:
    ///   - launcher: A program with arguments that executes the daemon.
    ///   - managerPath: The path of the service manager's socket.
    init(
        _ arguments: [String], environment: [String: String?] = [:], launcher: [String] = [], managerPath: String,
        input: ChildProcess.Input = .none
    ) throws {
        manager = try ServiceManager(path: managerPath)
        let command = launcher + [Programs.notifyd] + arguments
        process = try ChildProcess(
            command[0], Array(command.dropFirst()),
            environment: Daemon.clean.merging(["NOTIFY_SOCKET": manager.path]) { $1 }.merging(environment) { $1 },
            input: input)
    }

    /// Waits until clients can connect, and returns the path of the socket. Throws if the daemon ends before that.
    @discardableResult
    func ready(within limit: Duration = .seconds(300)) async throws -> String {
        let outcome = Watched<Bool?>(nil)
        let watch = Task {
            _ = try? await process.waitForExit(within: limit)
            outcome.update { if $0 == nil { $0 = false } }
        }
        let ready = Task {
            _ = try await manager.messages.wait("READY=1", within: limit) { $0.contains("READY=1") ? true : nil }
            outcome.update { if $0 == nil { $0 = true } }
        }
        defer {
            watch.cancel()
            ready.cancel()
        }
        guard try await outcome.wait("the daemon's start", within: limit, for: { $0 }) else {
            throw TimedOut(description: "the daemon ended at its start: \(process.standardError.current)")
        }
        return try await manager.messages.wait("the socket's path") { messages in
            let prefix = "STATUS=listening on "
            return messages.first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
        }
    }

    /// Waits until the daemon has ended with status 1 and one line on standard error, and returns the message of that
    /// line.
    func refusal(sourceLocation: SourceLocation = #_sourceLocation) async throws -> String {
        let exit = try await process.waitForExit()
        #expect(exit == .status(1), sourceLocation: sourceLocation)
        let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
        let output = try await process.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
        #expect(output.bytes.isEmpty, sourceLocation: sourceLocation)
        #expect(errors.lines.count == 1, sourceLocation: sourceLocation)
        #expect(manager.messages.current.contains("READY=1") == false, sourceLocation: sourceLocation)
        let prefix = "notifyd: "
        #expect(errors.text.hasPrefix(prefix), sourceLocation: sourceLocation)
        return String(errors.text.dropFirst(prefix.count))
    }

    @discardableResult
    func stop(within limit: Duration = .seconds(300)) async throws -> ChildProcess.Exit {
        process.send(SIGTERM)
        return try await process.waitForExit(within: limit)
    }
}

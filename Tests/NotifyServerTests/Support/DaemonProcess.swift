import Foundation
import Testing

/// A notifyd process that logs to standard error, as if it was started from a shell.
final class DaemonProcess {
    private let process = Process()
    private let errors = Pipe()
    private let output = Pipe()
    private var received = ""

    /// - Parameters:
    ///   - launcher: A program that executes the daemon, with the program's own arguments.
    ///   - environment: The complete environment. No variable is inherited.
    init(
        _ arguments: [String], launcher: [String] = [], environment: [String: String] = [:]
    ) throws {
        let command = launcher + [Self.binary] + arguments
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.environment = environment
        process.standardInput = FileHandle.nullDevice
        process.standardError = errors
        process.standardOutput = output
        try process.run()
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    /// The path of notifyd in the folder of the test runner.
    private static var binary: String {
        Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
            .map { $0.bundleURL.deletingLastPathComponent().appendingPathComponent("notifyd").path }
            ?? URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
            .appendingPathComponent("notifyd").path
    }

    var processID: pid_t { process.processIdentifier }

    func signal(_ number: CInt) {
        kill(process.processIdentifier, number)
    }

    /// Waits until standard error contains the text. Gives up after five minutes without output.
    ///
    /// - Returns: All output on standard error so far.
    @discardableResult
    func waitForError(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> String {
        while !received.contains(text), readMore() {}
        #expect(received.contains(text), sourceLocation: sourceLocation)
        return received
    }

    /// Waits for the end of the process. Kills the process after five minutes without output.
    func end() -> (status: Int32, output: String, errors: String) {
        while readMore() {}
        process.waitUntilExit()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return (process.terminationStatus, text, received)
    }

    /// Waits for output on standard error, and appends the output to `received`. Kills the process after five minutes
    /// without output.
    ///
    /// - Returns: `false` at the end of standard error, or if the process was killed.
    private func readMore() -> Bool {
        let descriptor = errors.fileHandleForReading.fileDescriptor
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, 300_000) == 1 else {
            Issue.record("the daemon printed nothing for five minutes")
            kill(process.processIdentifier, SIGKILL)
            return false
        }
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = read(descriptor, &bytes, bytes.count)
        guard count > 0 else { return false }
        received += String(decoding: bytes[..<count], as: UTF8.self)
        return true
    }
}

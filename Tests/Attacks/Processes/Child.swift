import Foundation

/// A child process: its standard output is read line by line, and commands are written to its standard input.
final class Child {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var unread: [UInt8] = []
    private(set) var lines: [String] = []

    init(_ path: String, _ arguments: [String], environment: [String: String] = [:]) throws {
        process.executableURL = URL(filePath: path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = input
        process.standardOutput = output
        try process.run()
        let descriptor = output.fileHandleForReading.fileDescriptor
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    }

    /// Starts this program again, with other arguments.
    convenience init(own arguments: [String]) throws {
        try self.init(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), arguments)
    }

    deinit {
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    }

    var pid: pid_t { process.processIdentifier }
    var isRunning: Bool { process.isRunning }
    /// The exit status; if a signal ended the process, the negated signal number.
    var status: Int32 {
        process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus
    }

    func send(_ line: String) {
        try? input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    func closeInput() {
        try? input.fileHandleForWriting.close()
    }

    func signal(_ number: Int32) {
        if process.isRunning { kill(process.processIdentifier, number) }
    }

    func waitForExit() { process.waitUntilExit() }

    /// Reads the available output, without blocking.
    func receive() {
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(output.fileHandleForReading.fileDescriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            unread += buffer[..<count]
        }
        while let end = unread.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: unread[..<end], as: UTF8.self))
            unread.removeFirst(end + 1)
        }
    }

    /// The numbers in the last line of the form `word key=value key=value` with this word.
    func fields(_ word: String) -> [String: Double]? {
        guard let line = lines.last(where: { $0.hasPrefix(word + " ") }) else { return nil }
        let pairs = line.split(separator: " ").dropFirst().compactMap { pair -> (String, Double)? in
            let parts = pair.split(separator: "=")
            guard parts.count == 2, let value = Double(parts[1]) else { return nil }
            return (String(parts[0]), value)
        }
        return Dictionary(pairs) { $1 }
    }
}

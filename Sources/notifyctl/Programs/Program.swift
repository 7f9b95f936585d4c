import Glibc
import NotifySystem
import SystemPackage

/// Runs other programs to their end.
enum Program {
    /// Runs a program, and waits until it exits. Ctrl-C at the terminal reaches the program, too.
    ///
    /// - Parameter command: The path of the program, or its name in a folder of PATH; and the arguments.
    /// - Returns: The exit status, or -1 if a signal ended the program; and its standard output and error as one text.
    /// - Throws: `Errno` if the program can't be run.
    static func run(_ command: [String]) async throws -> (status: Int32, output: String) {
        let (process, output) = try await Blocking.run { try start(command) }
        return switch await process.waitForEnd() {
        case .exited(let status): (status, output)
        case .signaled, .unknown: (-1, output)
        }
    }

    /// Starts a program, and reads its output to the end.
    private static func start(_ command: [String]) throws -> (ProgramProcess, output: String) {
        let path = try ProgramFile.find(command[0])
        let (output, writeEnd) = try FileDescriptor.pipe(options: .closeOnExec)
        defer { try? output.close() }
        let process = try writeEnd.closeAfter {
            try ProgramProcess.start(
                path, arguments: command.flatMap { Array($0.utf8) + [0] },
                environment: OwnEnvironment.entries.flatMap { $0 + [0] }, input: .standardInput, output: writeEnd,
                error: writeEnd, hasOwnGroup: false)
        }
        return (process, readAll(output.rawValue))
    }

    /// Whether a signal or a debugger has stopped the process.
    static func isStopped(_ process: pid_t) -> Bool {
        guard let file = try? OwnedDescriptor.open("/proc/\(process)/stat", .readOnly) else { return false }
        let text = readAll(file.rawValue)
        // The state follows the program's name, which is in parentheses and may contain any character.
        guard let name = text.lastIndex(of: ")") else { return false }
        return ["T", "t"].contains(text[name...].dropFirst(2).prefix(1))
    }

    private static func readAll(_ descriptor: Int32) -> String {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}

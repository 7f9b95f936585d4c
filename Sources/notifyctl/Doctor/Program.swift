import CGNU
import FoundationEssentials
import Glibc
import NotifySystem
import SystemPackage

/// Runs other programs.
enum Program {
    /// Runs a program, and waits until it exits.
    ///
    /// - Returns: The exit status, or -1 if a signal ended the program; and its standard output and error as one text.
    /// - Throws: `Errno` if the program can't be run.
    static func run(_ command: [String]) async throws -> (status: Int32, output: String) {
        try await Blocking.run { try runBlocking(command) }
    }

    /// Whether a signal or a debugger has stopped the process.
    static func isStopped(_ process: pid_t) -> Bool {
        guard let file = try? OwnedDescriptor.open("/proc/\(process)/stat", .readOnly) else { return false }
        let text = readAll(file.rawValue)
        // The state follows the program's name, which is in parentheses and may contain any character.
        guard let name = text.lastIndex(of: ")") else { return false }
        return ["T", "t"].contains(text[name...].dropFirst(2).prefix(1))
    }

    private static func runBlocking(_ command: [String]) throws -> (status: Int32, output: String) {
        var ends: [Int32] = [-1, -1]
        guard pipe2(&ends, O_CLOEXEC) == 0 else { throw Errno(rawValue: errno) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for target in [STDOUT_FILENO, STDERR_FILENO] { posix_spawn_file_actions_adddup2(&actions, ends[1], target) }
        // Foundation and Dispatch open files without close-on-exec, perhaps on another thread at this moment. The
        // program must not inherit these files.
        posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1)
        var arguments = command.map { strdup($0) } + [nil]
        var environment = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for string in arguments + environment { free(string) } }
        var child: pid_t = 0
        let code = posix_spawnp(&child, command[0], &actions, nil, &arguments, &environment)
        close(ends[1])
        guard code == 0 else { throw Errno(rawValue: code) }
        let output = readAll(ends[0])
        var status: Int32 = 0
        while waitpid(child, &status, 0) < 0, errno == EINTR {}
        return (status & 0x7F == 0 ? status >> 8 & 0xFF : -1, output)
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

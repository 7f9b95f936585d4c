import FoundationEssentials
import Glibc
import SystemPackage

/// Runs `notifyd --check-start`, which checks the daemon's files as a start does.
///
/// The check runs in a program of its own, because notifyctl does not contain the daemon's code.
struct StartCheck {
    /// Whether to check as the systemd service: as its user, and with its directories.
    let asService: Bool

    /// - Returns: The exit status, and the last line that notifyd has printed, without the prefix `notifyd: `.
    /// - Throws: `Errno` if notifyd can't be run.
    func run() async throws -> (status: Int32, message: String) {
        let command = (asService ? Self.serviceLauncher : []) + [Self.notifyd, "--check-start"]
        let (status, output) = try await Blocking.run { try Self.run(command) }
        let line = output.split(separator: "\n").last.map(String.init) ?? ""
        return (status, line.hasPrefix("notifyd: ") ? String(line.dropFirst(9)) : line)
    }

    /// Sets what `User=`, `StateDirectory=` and `ConfigurationDirectory=` of the unit set.
    private static let serviceLauncher = [
        "setpriv", "--reuid=notifyd", "--regid=notifyd", "--init-groups", "env", "STATE_DIRECTORY=/var/lib/notifyd",
        "CONFIGURATION_DIRECTORY=/etc/notifyd",
    ]

    /// The daemon beside this program, else the one in `PATH`.
    private static var notifyd: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "notifyd" }
        let program = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = program[...(program.lastIndex(of: "/") ?? program.startIndex)] + "notifyd"
        return access(String(beside), X_OK) == 0 ? String(beside) : "notifyd"
    }

    /// Runs a program with its standard output and error in one text. Blocks.
    private static func run(_ command: [String]) throws -> (status: Int32, output: String) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Errno(rawValue: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        for target in [STDOUT_FILENO, STDERR_FILENO] { posix_spawn_file_actions_adddup2(&actions, ends[1], target) }
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

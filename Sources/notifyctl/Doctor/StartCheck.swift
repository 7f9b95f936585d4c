import Glibc

/// Runs `notifyd --check-start`, which checks the daemon's files as a start does.
///
/// The check runs in a program of its own, because notifyctl does not contain the daemon's code.
struct StartCheck {
    /// Whether the check runs as the systemd service does: as its user, and with its directories.
    let asService: Bool

    /// - Returns: The exit status, and the last line that notifyd has printed, without the prefix `notifyd: `.
    /// - Throws: `Errno` if notifyd can't be run.
    func run() async throws -> (status: Int32, message: String) {
        let command = (asService ? Self.serviceLauncher : []) + [Self.notifyd, "--check-start"]
        let (status, output) = try await Program.run(command)
        let line = output.split(separator: "\n").last.map(String.init) ?? ""
        return (status, line.hasPrefix("notifyd: ") ? String(line.dropFirst(9)) : line)
    }

    /// The start of a command line that runs a program with the user and the directories that `User=`,
    /// `StateDirectory=` and `ConfigurationDirectory=` of the unit set.
    private static let serviceLauncher = [
        "setpriv", "--reuid=notifyd", "--regid=notifyd", "--init-groups", "env", "STATE_DIRECTORY=/var/lib/notifyd",
        "CONFIGURATION_DIRECTORY=/etc/notifyd",
    ]

    /// The daemon beside this program, or else the daemon in `PATH`.
    private static var notifyd: String {
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { return "notifyd" }
        let program = String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let beside = program[...(program.lastIndex(of: "/") ?? program.startIndex)] + "notifyd"
        return faccessat(AT_FDCWD, String(beside), X_OK, AT_EACCESS) == 0 ? String(beside) : "notifyd"
    }
}

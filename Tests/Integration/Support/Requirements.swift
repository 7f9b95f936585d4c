import Foundation
import Testing

/// Capabilities of the machine that some tests require.
enum Requirements {
    static let isRoot = geteuid() == 0

    /// Whether the tests run as root and may mount file systems in a new mount namespace.
    static let canMount = isRoot && succeeds("unshare", ["--mount", "sh", "-c", "mount -t tmpfs none /run"])

    /// Whether the tests run as root and can start programs as another user who has read access to the build folder.
    static let canSwitchUser = isRoot && succeeds(asUser(54_321)[0], Array(asUser(54_321).dropFirst()) + ["true"])

    /// Whether strace is installed and may trace a child process.
    static let canTrace = succeeds("strace", ["-e", "trace=none", "-o", "/dev/null", "true"])

    /// Whether tmux is installed.
    static let hasTmux = succeeds("tmux", ["-V"])

    /// Whether the OpenMetrics parser of Prometheus is installed.
    static let hasPrometheusClient = succeeds(systemPython, ["-c", "import prometheus_client.openmetrics.parser"])

    /// The Python of the distribution, which finds the distribution's packages. Another Python may precede it in PATH.
    static let systemPython = "/usr/bin/python3"

    /// Returns a launcher that runs a program as another user. The program may read all files, because the build folder
    /// may be accessible only to root. For writing, the program has only the rights of the user.
    static func asUser(_ uid: UInt32, group: UInt32? = nil) -> [String] {
        [
            "setpriv", "--reuid=\(uid)", "--regid=\(group ?? uid)", "--clear-groups",
            "--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search",
        ]
    }

    private static func succeeds(_ program: String, _ arguments: [String]) -> Bool {
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}

/// The attributes of a file, from `lstat`.
struct FileAttributes: Equatable {
    var permissions: mode_t
    var owner: uid_t
    var kind: mode_t

    init?(_ path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        permissions = status.st_mode & 0o7777
        kind = status.st_mode & S_IFMT
        owner = status.st_uid
    }

    static func exists(_ path: String) -> Bool { FileAttributes(path) != nil }
}

import Foundation
import Testing

/// What some tests need of the machine, beyond a shell.
enum Requirements {
    static let isRoot = geteuid() == 0

    /// Root that may give itself folders of its own to mount over the system's.
    static let canMount = isRoot && succeeds("unshare", ["--mount", "sh", "-c", "mount -t tmpfs none /run"])

    /// Root, and a program that starts others as somebody else, with rights to read what the build made.
    static let canBecomeOthers = isRoot && succeeds(asUser(54_321)[0], Array(asUser(54_321).dropFirst()) + ["true"])

    /// strace, and a kernel that lets it look at a child.
    static let canTrace = succeeds("strace", ["-e", "trace=none", "-o", "/dev/null", "true"])

    /// The launcher of a program that runs as that user. It may read what root may, as the programs under test can lie
    /// in a folder of root's, and write what its user may.
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

/// What a file is, as `stat` has it.
struct FileFacts: Equatable {
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

    static func exists(_ path: String) -> Bool { FileFacts(path) != nil }
}

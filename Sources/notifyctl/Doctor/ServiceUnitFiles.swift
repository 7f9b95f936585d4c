import Glibc

/// The files of the system's `notifyd.socket`, as systemd finds them.
struct ServiceUnitFiles {
    private static let folders = [
        "/etc/systemd/system", "/run/systemd/system", "/usr/local/lib/systemd/system", "/usr/lib/systemd/system",
        "/lib/systemd/system",
    ]

    let isInstalled: Bool
    let isEnabled: Bool

    init() {
        isInstalled = Self.folders.contains { Self.exists("\($0)/notifyd.socket") }
        isEnabled = Self.folders.contains { Self.exists("\($0)/sockets.target.wants/notifyd.socket") }
    }

    /// Whether the path is a file or a link. A dangling link counts, too.
    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}

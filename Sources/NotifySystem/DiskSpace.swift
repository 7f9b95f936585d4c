import Glibc

/// The space on the file system that contains a file or directory.
package struct DiskSpace: Sendable, Equatable {
    /// The bytes that unprivileged processes may still write.
    package var freeBytes: UInt64
    package var totalBytes: UInt64

    package init(freeBytes: UInt64, totalBytes: UInt64) {
        self.freeBytes = freeBytes
        self.totalBytes = totalBytes
    }

    /// - Returns: `nil` if the path can't be read.
    package init?(at path: String) {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        self.init(
            freeBytes: UInt64(status.f_bavail) * UInt64(status.f_frsize),
            totalBytes: UInt64(status.f_blocks) * UInt64(status.f_frsize))
    }

    /// Whether less than 5% and less than 1 GiB are free.
    package var isNearlyFull: Bool { freeBytes < totalBytes / 20 && freeBytes < 1 << 30 }
}

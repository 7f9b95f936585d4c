package import NotifySystem

/// Measures the space on the disk of the log. Tests replace it.
package final class StoreDisk: Sendable {
    /// Returns the space on the file system of a path; nil if it can't be read.
    package let space: @Sendable (_ path: String) -> DiskSpace?

    package init(space: @escaping @Sendable (_ path: String) -> DiskSpace?) {
        self.space = space
    }

    package static let system = StoreDisk { DiskSpace(at: $0) }
}

extension StoreDisk: Equatable {
    package static func == (left: StoreDisk, right: StoreDisk) -> Bool { left === right }
}

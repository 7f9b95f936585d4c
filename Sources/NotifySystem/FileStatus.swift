import CGNU
import Glibc
package import SystemPackage

/// The identity of a file and its size.
///
/// Leaves out the file's times on purpose. Since version 6.13, the kernel stores an exact time with the first write
/// after they were read (https://docs.kernel.org/filesystems/multigrain-ts.html), and the next flush then writes the
/// inode, too. For a write-ahead log, this takes half as long as the flush itself.
package struct FileStatus: Equatable, Sendable {
    /// What two paths of the same file have in common.
    package struct Identity: Equatable, Sendable {
        let deviceMajor: UInt32
        let deviceMinor: UInt32
        let inode: UInt64
    }

    package let identity: Identity
    package let bytes: UInt64

    /// The status of the file at a path, or of a symbolic link that is there.
    package init(at path: String) throws(Errno) {
        try self.init(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW)
    }

    /// The status of an open file, wherever it is now.
    package init(_ file: borrowing OwnedDescriptor) throws(Errno) {
        try self.init(file.rawValue, "", notifyd_AT_EMPTY_PATH)
    }

    private init(_ folder: CInt, _ path: String, _ flags: CInt) throws(Errno) {
        var status = statx()
        try Errno.check(statx(folder, path, flags, UInt32(STATX_INO | STATX_SIZE), &status))
        identity = Identity(
            deviceMajor: status.stx_dev_major, deviceMinor: status.stx_dev_minor, inode: status.stx_ino)
        bytes = status.stx_size
    }
}

extension OwnedDescriptor {
    /// Opens the path of a file, but not the file: the descriptor is only good for ``FileStatus``, and closing it does
    /// not release locks on the file.
    package static func openPath(_ path: String) throws(Errno) -> OwnedDescriptor {
        OwnedDescriptor(owning: try Errno.check(Glibc.open(path, notifyd_O_PATH | O_CLOEXEC)))
    }
}

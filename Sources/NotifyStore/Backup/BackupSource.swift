import Glibc
import NotifySystem
import SystemPackage

/// A backup from which a log is restored: an open file.
package struct BackupSource: ~Copyable {
    package let path: String
    private let file: OwnedDescriptor

    /// - Throws: `StoreError` if the file can't be read, or is not a regular file.
    package init(path: String) throws(StoreError) {
        self.path = path
        file = try Self.open(path)
    }

    private static func open(_ path: String) throws(StoreError) -> OwnedDescriptor {
        let file: OwnedDescriptor
        do throws(Errno) {
            file = try OwnedDescriptor.open(path, .readOnly, options: .nonBlocking)
        } catch {
            throw StoreError(.notAccessible, "the file '\(path)' can't be read: \(error)")
        }
        guard let status = try? Stat(file.descriptor), status.type == .regular else {
            throw StoreError(.notARegularFile, "'\(path)' is not a regular file")
        }
        // A backup of notifyd is one file. A database that was copied by other means may have messages in its
        // write-ahead log, which a restore does not read.
        guard (try? Stat(FilePath(path + "-wal")).size) ?? 0 == 0 else {
            throw StoreError(
                .notADatabase, "'\(path)' is not a backup: a part of it is in its write-ahead log '\(path)-wal'")
        }
        return file
    }

    /// Whether this is the file at `other`.
    func isFile(at other: String) -> Bool {
        guard let mine = try? Stat(file.descriptor), let status = try? Stat(FilePath(other)) else { return false }
        return mine.deviceID == status.deviceID && mine.inode == status.inode
    }

    /// Copies the file to a new file, and flushes the copy.
    func copy(to target: String) throws(Errno) {
        let output = try OwnedDescriptor.open(
            target, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
        let input = file.descriptor
        try Errno.typed {
            try withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { buffer in
                var offset: Int64 = 0
                while true {
                    let count = try input.read(fromAbsoluteOffset: offset, into: buffer)
                    guard count > 0 else { return }
                    try output.descriptor.writeAll(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                    offset += Int64(count)
                }
            }
        }
        try Errno.check(fsync(output.rawValue))
    }
}

import Glibc
import NotifySystem
import SystemPackage

/// Space on the disk that no message may use: a file beside the database whose space is allocated. When the disk is
/// full, it is shortened for acknowledgements and attachments, and removed for deletions.
///
/// A deletion also writes to the disk at first. Without a reserve, a full disk would refuse what makes room on it.
/// Deletions have a part of their own, because another program may take the space of the other part as soon as it is
/// free.
final class DiskReserve {
    enum Use {
        case deletion
        /// What stores no message: acknowledgements, attachments and changes of subscriptions.
        case change
    }

    private enum State {
        case none
        /// Only the part for deletions.
        case part
        case whole
    }

    /// The part for deletions: the first ones, and a checkpoint of a write-ahead log that is kept short.
    private static let deletionBytes: UInt64 = 4 << 20 + UInt64(Log.checkpointBytesWithoutReserve)
    /// The room for changes, besides that for a checkpoint.
    private static let changeBytes: UInt64 = 1 << 20

    /// The size of the file: on a full disk, the pages of the write-ahead log must have room in the database, so that
    /// the write-ahead log can begin again within its file.
    let bytes: UInt64
    let path: String
    private var state: State
    /// Whether a part of the reserve was released and not made again since.
    private(set) var isReleased: Bool

    /// Whether the reserve is complete.
    var isHeld: Bool { state == .whole }

    /// Whether messages can be deleted on a full disk.
    var isForDeletions: Bool { state != .none }

    /// Finds the reserve of an earlier run beside the database at `path`. Makes none.
    ///
    /// - Parameter checkpointBytes: The size of the write-ahead log at which it is checkpointed.
    init(beside path: String, checkpointBytes: Int) {
        bytes = UInt64(min(checkpointBytes, 64 << 20)) + Self.changeBytes + Self.deletionBytes
        self.path = path + ".reserve"
        let status = try? Stat(FilePath(self.path), followTargetSymlink: false)
        let size = status?.type == .regular ? status?.size : nil
        state = size == Int64(bytes) ? .whole : size == Int64(Self.deletionBytes) ? .part : .none
        isReleased = state == .part
    }

    /// Makes the reserve, if there is none and the disk has more than enough room for it.
    ///
    /// - Parameter freeBytes: The free bytes of the disk, apart from those that must stay free.
    func make(freeBytes: UInt64) {
        guard !isHeld, freeBytes >= 4 * bytes else { return }
        // Of another size, or incomplete.
        unlink(path)
        do throws(Errno) {
            let file = try OwnedDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
            // `posix_fallocate` returns the error instead of setting `errno`.
            let result = posix_fallocate(file.rawValue, 0, off_t(bytes))
            guard result == 0 else { throw Errno(rawValue: result) }
            state = .whole
            isReleased = false
        } catch {
            unlink(path)
            state = .none
        }
    }

    /// Releases the part for a use.
    ///
    /// - Returns: Whether that has made room.
    func release(for use: Use) -> Bool {
        switch (use, state) {
        case (_, .none), (.change, .part): return false
        case (.deletion, _):
            guard unlink(path) == 0 else { return false }
            state = .none
        case (.change, .whole):
            guard truncate(path, off_t(Self.deletionBytes)) == 0 else { return false }
            state = .part
        }
        isReleased = true
        return true
    }
}

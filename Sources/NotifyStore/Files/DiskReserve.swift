import Glibc
import NotifySystem
import SystemPackage

/// Space on the disk that no message may use: a file beside the database whose space is allocated. When the disk is
/// full, the file is shortened for acknowledgements and attachments, and removed for deletions.
///
/// A deletion makes room in the end, but writes to the disk at first, so it would fail on a full disk without a
/// reserve. Deletions have a part of their own, because another program may take the space of the other part as soon as
/// it is released. A disk without room for the whole reserve has a small one, for deletions alone.
final class DiskReserve {
    enum Use {
        case deletion
        /// Work that stores no message: acknowledgements, attachments and changes of subscriptions.
        case change
    }

    private enum State {
        case none
        /// Only the part for deletions is left: the part for changes was released.
        case part
        /// The reserve is for deletions only, because the disk had no room for more.
        case small
        case whole
    }

    /// The size of the part for deletions: room for the first deletions, and for a checkpoint of a write-ahead log that
    /// is kept short.
    private static let deletionBytes: UInt64 = 4 << 20 + UInt64(LogDisk.shortCheckpointBytes)
    /// The size of the small reserve. It differs from `deletionBytes`, so that the next start can distinguish the small
    /// reserve from a part that was left.
    private static let smallBytes = deletionBytes + 4096
    /// The room for changes. The room for a checkpoint is added.
    private static let changeBytes: UInt64 = 1 << 20
    /// The factor by which the free space must exceed a reserve before it is made.
    private static let roomFactor: UInt64 = 4

    /// The size of the whole reserve. It includes room for a checkpoint, which moves the pages of the write-ahead log
    /// to the database. After that, SQLite writes the next pages over the old ones, which takes no space.
    private let bytes: UInt64
    let path: String
    private var state: State
    /// The size of the reserve that was released and has not been made again; 0 if there is none. Messages must leave
    /// this room free.
    private(set) var releasedBytes: UInt64

    /// Whether the reserve is complete.
    var isHeld: Bool { state == .whole }

    /// Whether messages can be deleted on a full disk.
    var isForDeletions: Bool { state != .none }

    var isReleased: Bool { releasedBytes > 0 }

    /// Whether the write-ahead log must be kept short, because the rest of the reserve has room only for the checkpoint
    /// of a short one.
    var keepsLogShort: Bool { isReleased || state == .small }

    /// Finds the reserve of an earlier run beside the database at `path`. Makes none.
    ///
    /// - Parameter checkpointBytes: The size of the write-ahead log at which it is checkpointed.
    init(beside path: String, checkpointBytes: Int) {
        bytes = UInt64(min(checkpointBytes, 64 << 20)) + Self.changeBytes + Self.deletionBytes
        self.path = path + ".reserve"
        let status = try? Stat(FilePath(self.path), followTargetSymlink: false)
        let size = status?.type == .regular ? status.map { UInt64(clamping: $0.size) } : nil
        state =
            switch size {
            case bytes: .whole
            case Self.smallBytes: .small
            case Self.deletionBytes: .part
            default: .none
            }
        releasedBytes = state == .part ? bytes : 0
    }

    /// Makes the whole reserve if it is not complete, or the small one if there is none, provided that the disk has
    /// ample room for it.
    ///
    /// - Parameter freeBytes: The free bytes of the disk above the minimum that must stay free.
    func make(freeBytes: UInt64) {
        if !isHeld, freeBytes >= Self.roomFactor * bytes { make(.whole, bytes) }
        if state == .none, freeBytes >= Self.roomFactor * Self.smallBytes { make(.small, Self.smallBytes) }
    }

    private func make(_ made: State, _ bytes: UInt64) {
        // An existing file has another size, or is incomplete.
        unlink(path)
        do throws(Errno) {
            let file = try OwnedDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
            // `posix_fallocate` returns the error instead of setting `errno`.
            let result = posix_fallocate(file.rawValue, 0, off_t(bytes))
            guard result == 0 else { throw Errno(rawValue: result) }
            state = made
            // A small reserve does not replace a whole one that was released.
            if releasedBytes <= bytes { releasedBytes = 0 }
        } catch {
            unlink(path)
            state = .none
        }
    }

    /// Releases the part of the reserve for a use.
    ///
    /// - Returns: Whether room was made.
    func release(for use: Use) -> Bool {
        let released = state == .small ? Self.smallBytes : bytes
        switch (use, state) {
        case (_, .none), (.change, .part), (.change, .small): return false
        case (.deletion, _):
            guard unlink(path) == 0 else { return false }
            state = .none
        case (.change, .whole):
            guard truncate(path, off_t(Self.deletionBytes)) == 0 else { return false }
            state = .part
        }
        releasedBytes = max(releasedBytes, released)
        return true
    }
}

import Glibc
import NotifySystem
import SystemPackage

/// Space on the disk that no message may use: a file beside the database whose space is allocated. When the disk is
/// full, it is shortened for acknowledgements and attachments, and removed for deletions.
///
/// A deletion also writes to the disk at first. Without a reserve, deletions, which make room, would fail on a full
/// disk. Deletions have a part of their own, because another program may take the space of the other part as soon as it
/// is free. A disk without room for the whole reserve has one for deletions alone.
final class DiskReserve {
    enum Use {
        case deletion
        /// Work that stores no message: acknowledgements, attachments and changes of subscriptions.
        case change
    }

    private enum State {
        case none
        /// Only the part for deletions: the other one was released.
        case part
        /// Only for deletions, because the disk had no room for more.
        case small
        case whole
    }

    /// The part for deletions: the first ones, and a checkpoint of a write-ahead log that is kept short.
    private static let deletionBytes: UInt64 = 4 << 20 + UInt64(LogDisk.shortCheckpointBytes)
    /// The size of the reserve of a small disk. It differs from that of the part, so that the next start can tell them
    /// apart.
    private static let smallBytes = deletionBytes + 4096
    /// The room for changes, besides that for a checkpoint.
    private static let changeBytes: UInt64 = 1 << 20
    /// The multiple of a reserve that must be free to make it.
    private static let roomFactor: UInt64 = 4

    /// The size of the whole reserve: on a full disk, the pages of the write-ahead log must have room in the database,
    /// so that the write-ahead log can begin again within its file.
    private let bytes: UInt64
    let path: String
    private var state: State
    /// The size of the reserve that was released and not made again since; 0 if there is none. Messages must leave this
    /// room free.
    private(set) var releasedBytes: UInt64

    /// Whether the reserve is complete.
    var isHeld: Bool { state == .whole }

    /// Whether messages can be deleted on a full disk.
    var isForDeletions: Bool { state != .none }

    var isReleased: Bool { releasedBytes > 0 }

    /// Whether there is less than the whole reserve, with room for the checkpoint of a short write-ahead log alone.
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

    /// Makes the reserve, or that for deletions, if there is none and the disk has more than enough room for it.
    ///
    /// - Parameter freeBytes: The free bytes of the disk, apart from those that must stay free.
    func make(freeBytes: UInt64) {
        if !isHeld, freeBytes >= Self.roomFactor * bytes { make(.whole, bytes) }
        if state == .none, freeBytes >= Self.roomFactor * Self.smallBytes { make(.small, Self.smallBytes) }
    }

    private func make(_ made: State, _ bytes: UInt64) {
        // Of another size, or incomplete.
        unlink(path)
        do throws(Errno) {
            let file = try OwnedDescriptor.open(
                path, .writeOnly, options: [.create, .exclusiveCreate, .noFollow], permissions: .ownerReadWrite)
            // `posix_fallocate` returns the error instead of setting `errno`.
            let result = posix_fallocate(file.rawValue, 0, off_t(bytes))
            guard result == 0 else { throw Errno(rawValue: result) }
            state = made
            // One for deletions does not replace a whole one.
            if releasedBytes <= bytes { releasedBytes = 0 }
        } catch {
            unlink(path)
            state = .none
        }
    }

    /// Releases the part for a use.
    ///
    /// - Returns: Whether that has made room.
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

import Glibc
import NotifySystem
import Synchronization
import SystemPackage

/// The lowest sequence that no peer has seen, in shared memory that outlives the process but not a reboot.
///
/// The store reserves sequences in blocks of billions, so that posts need no disk write. Without the mark, a start
/// after a crash would have to skip the rest of the block, and clients would see a gap of that size.
///
/// The mark is a POSIX shared-memory object rather than a file beside the database, for two reasons. First, its page is
/// allocated when it is opened, so that an update is a memory write, which can't fail even on a full disk. Second, a
/// file would hardly be safer: the mark is lost when the kernel stops, and then an unflushed file may lose its latest
/// writes, too. logind may also remove the mark of a user who has logged out (`RemoveIPC=`). A lost mark costs only a
/// gap.
///
/// `@unchecked Sendable`: the mapping is one atomic value, valid until `deinit`.
final class SequenceMark: @unchecked Sendable {
    let name: String
    private let mapping: UnsafeMutableRawPointer
    private var next: UnsafeMutablePointer<Atomic<UInt64>> { mapping.assumingMemoryBound(to: Atomic<UInt64>.self) }

    private static let size = MemoryLayout<Atomic<UInt64>>.size

    /// Opens the mark of the log with the random `logID` in the database at `path`, or creates it with the value 0.
    ///
    /// The database's device and inode are part of the name, so that a copy of the database has its own mark.
    ///
    /// - Throws: `Errno` if shared memory is unavailable. The log works without the mark.
    convenience init(logID: [UInt8], databasePath path: String) throws(Errno) {
        let database = try Errno.typed { try Stat(FilePath(path)) }
        let digits = logID.map { byte in
            let digits = String(byte, radix: 16)
            return byte < 16 ? "0" + digits : digits
        }
        try self.init(name: "/notifyd-\(digits.joined())-\(database.deviceID.rawValue)-\(database.inode.rawValue)")
    }

    /// Opens or creates the mark of a database that can't be created because the disk is full. The mark is identified
    /// by the path, because the log gets an id and a mark of its own only when it is created.
    convenience init(ofMissing path: String) throws(Errno) {
        let directory = try Errno.typed { try Stat(FilePath(AccessProblem.directory(of: path))) }
        // FNV-1a gives the same hash in every process, unlike Swift's hash values.
        let hash = path[(path.lastIndex(of: "/") ?? path.startIndex)...].utf8
            .reduce(0xCBF2_9CE4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
        try self.init(
            name: "/notifyd-\(String(hash, radix: 16))-\(directory.deviceID.rawValue)-\(directory.inode.rawValue)")
    }

    private init(name: String) throws(Errno) {
        self.name = name
        mapping = try Self.map(name)
    }

    deinit {
        munmap(mapping, Self.size)
    }

    /// The lowest sequence that no peer has seen; 0 if unknown.
    var value: UInt64 { next.pointee.load(ordering: .relaxed) }

    /// Records that peers may see sequences below `next` from now on.
    func set(_ next: UInt64) {
        self.next.pointee.store(next, ordering: .relaxed)
    }

    /// Removes the shared-memory object's name. Later values are lost when the process ends.
    func remove() {
        shm_unlink(name)
    }

    private static func map(_ name: String) throws(Errno) -> UnsafeMutableRawPointer {
        let file = OwnedDescriptor(
            owning: try Errno.check(shm_open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)))
        let status = try Errno.typed { try Stat(file.descriptor) }
        guard status.userID.rawValue == geteuid(), status.permissions == .ownerReadWrite else {
            throw .notPermitted
        }
        // `posix_fallocate` returns the error instead of setting `errno`.
        let result = posix_fallocate(file.rawValue, 0, off_t(size))
        guard result == 0 else { throw Errno(rawValue: result) }
        guard let mapping = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawValue, 0), mapping != MAP_FAILED
        else { throw .last }
        return mapping
    }
}

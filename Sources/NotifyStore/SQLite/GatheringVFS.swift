import CSQLite
import Glibc
import NotifySystem

/// A layer over SQLite's VFS that gathers neighboring writes.
///
/// For each page, SQLite calls the kernel twice for the write-ahead log, and once more for the database at a checkpoint.
/// In a large batch these calls take most of the time. The layer writes neighboring pages with one call. Once a commit
/// has returned, all its bytes are in the file, as without the layer.
///
/// Files are used without shared memory. So a connection must use exclusive locking for a write-ahead log.
enum GatheringVFS {
    /// The name of the layer for `sqlite3_open_v2`; nil if SQLite has refused it.
    static let name: String? = register() ? "notifyd" : nil

    private typealias File = UnsafeMutablePointer<sqlite3_file>

    /// What SQLite keeps for an open file. The record of the system's VFS follows in memory.
    private struct Record {
        var base: sqlite3_file
        var state: Unmanaged<State>
    }

    private final class State {
        let system: File
        let isLog: Bool
        /// For the size of a write-ahead log; nil for a database.
        private let path: OwnedDescriptor?
        var writes: GatheredWrites
        /// The size up to which a flush extends the write-ahead log; 0 for no extension.
        var extensionLimit: Int64 = 0
        /// The end of the bytes that were written last.
        private var writtenEnd: Int64 = 0

        init(_ system: File, logPath: UnsafePointer<CChar>?) {
            self.system = system
            isLog = logPath != nil
            if let logPath { path = try? .openPath(String(cString: logPath)) } else { path = nil }
            writes = GatheredWrites(isLog: isLog)
        }

        var methods: sqlite3_io_methods { system.pointee.pMethods.pointee }

        func add(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
            writes.add(bytes, at: offset) { write($0, at: $1) }
        }

        func flush() -> Int32 {
            writes.flush { write($0, at: $1) }
        }

        private func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
            writtenEnd = offset + Int64(bytes.count)
            return methods.xWrite(system, bytes.baseAddress, Int32(bytes.count), offset)
        }

        /// Reads the size of the file, gathered bytes included.
        func size(_ size: inout Int64) -> Int32 {
            let code = systemSize(&size)
            if code == SQLITE_OK, writes.count > 0 { size = max(size, writes.end) }
            return code
        }

        /// The system's VFS would read the file's times, too: see `FileStatus`.
        private func systemSize(_ size: inout Int64) -> Int32 {
            switch path {
            case .some(let path):
                guard let status = try? FileStatus(path) else { return SQLITE_IOERR }
                size = Int64(status.bytes)
                return SQLITE_OK
            case nil: return methods.xFileSize(system, &size)
            }
        }

        func sync(_ flags: Int32) -> Int32 {
            let code = flush()
            guard code == SQLITE_OK else { return code }
            writes.releaseMemory()
            if extensionLimit > 0 { extend() }
            return methods.xSync(system, flags)
        }

        /// Writes zeros after the end of a write-ahead log that is about to be full. Flushing bytes within a file takes
        /// half the time of flushing a file that has grown, because the file system writes no metadata. A failure has no
        /// effect: the file then grows with each write.
        private func extend() {
            var size: Int64 = 0
            guard writtenEnd > GatheringVFS.logHeaderBytes, systemSize(&size) == SQLITE_OK,
                size >= writtenEnd, size - writtenEnd < GatheringVFS.smallestRest
            else { return }
            withUnsafeTemporaryAllocation(byteCount: GatheredWrites.capacity, alignment: 16) { zeros in
                zeros.initializeMemory(as: UInt8.self, repeating: 0)
                for _ in 0..<GatheringVFS.extensionParts where size < extensionLimit {
                    guard methods.xWrite(system, zeros.baseAddress, Int32(zeros.count), size) == SQLITE_OK else {
                        return
                    }
                    size += Int64(zeros.count)
                }
            }
        }
    }

    /// The operation of `xFileControl` that sets the size up to which a flush extends a write-ahead log. The argument
    /// points to an `Int64`. SQLite leaves operations above 100 to applications.
    static let extendOperation: Int32 = 0x6E74_6664

    private static let logHeaderBytes: Int64 = 32
    /// A write-ahead log is extended when fewer bytes than this follow the last frame.
    private static let smallestRest: Int64 = 64 << 10
    /// The number of parts of 64 KiB by which a write-ahead log is extended.
    private static let extensionParts = 16

    /// The system's VFS. Looked up for each file, because tests replace it.
    private static var system: UnsafeMutablePointer<sqlite3_vfs>? { sqlite3_vfs_find(nil) }

    private static let recordBytes = (MemoryLayout<Record>.size + 15) / 16 * 16

    private static func register() -> Bool {
        guard let system else { return false }
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("notifyd"))
        layer.pointee.pNext = nil
        layer.pointee.szOsFile += Int32(recordBytes)
        layer.pointee.xOpen = { _, name, file, flags, outFlags in
            guard let file, let system = GatheringVFS.system else { return SQLITE_ERROR }
            return GatheringVFS.open(name, file, flags, outFlags, system)
        }
        layer.pointee.xDelete = { _, name, isFolderFlushed in
            guard let system = GatheringVFS.system else { return SQLITE_ERROR }
            return system.pointee.xDelete(system, name, isFolderFlushed)
        }
        return sqlite3_vfs_register(layer, 0) == SQLITE_OK
    }

    private static func open(
        _ name: UnsafePointer<CChar>?, _ file: File, _ flags: Int32, _ outFlags: UnsafeMutablePointer<Int32>?,
        _ system: UnsafeMutablePointer<sqlite3_vfs>
    ) -> Int32 {
        // Other files, such as the journal of a new database, are used without the layer.
        guard flags & (SQLITE_OPEN_MAIN_DB | SQLITE_OPEN_WAL) != 0 else {
            return system.pointee.xOpen(system, name, file, flags, outFlags)
        }
        let memory = UnsafeMutableRawPointer(file)
        let systemFile = (memory + recordBytes).assumingMemoryBound(to: sqlite3_file.self)
        file.pointee.pMethods = nil
        let code = system.pointee.xOpen(system, name, systemFile, flags, outFlags)
        guard systemFile.pointee.pMethods != nil else { return code }
        let state = State(systemFile, logPath: flags & SQLITE_OPEN_WAL != 0 ? name : nil)
        memory.initializeMemory(
            as: Record.self,
            to: Record(base: sqlite3_file(pMethods: methods), state: Unmanaged.passRetained(state)))
        return code
    }

    private static func state(_ file: File?) -> Unmanaged<State> {
        guard let file else { preconditionFailure("SQLite always passes the file") }
        return UnsafeMutableRawPointer(file).assumingMemoryBound(to: Record.self).pointee.state
    }

    /// `nonisolated(unsafe)`: the table never changes.
    nonisolated(unsafe) private static let methods: UnsafePointer<sqlite3_io_methods> = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        var table = sqlite3_io_methods()
        table.iVersion = 1
        table.xClose = { file in
            let state = GatheringVFS.state(file)
            let code = state._withUnsafeGuaranteedRef { $0.flush() }
            let closed = state._withUnsafeGuaranteedRef { $0.methods.xClose($0.system) }
            state.release()
            return code == SQLITE_OK ? closed : code
        }
        table.xRead = { file, bytes, count, offset in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { state in
                if state.writes.overlaps(offset..<offset + Int64(count)) {
                    let code = state.flush()
                    guard code == SQLITE_OK else { return code }
                }
                return state.methods.xRead(state.system, bytes, count, offset)
            }
        }
        table.xWrite = { file, bytes, count, offset in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { state in
                state.add(UnsafeRawBufferPointer(start: bytes, count: Int(count)), at: offset)
            }
        }
        table.xTruncate = { file, size in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { state in
                let code = state.flush()
                return code == SQLITE_OK ? state.methods.xTruncate(state.system, size) : code
            }
        }
        table.xSync = { file, flags in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.sync(flags) }
        }
        table.xFileSize = { file, size in
            guard let size else { return SQLITE_MISUSE }
            return GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.size(&size.pointee) }
        }
        table.xLock = { file, level in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.methods.xLock($0.system, level) }
        }
        table.xUnlock = { file, level in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.methods.xUnlock($0.system, level) }
        }
        table.xCheckReservedLock = { file, result in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.methods.xCheckReservedLock($0.system, result) }
        }
        table.xFileControl = { file, operation, argument in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { state in
                guard operation == GatheringVFS.extendOperation, state.isLog, let argument else {
                    return state.methods.xFileControl(state.system, operation, argument)
                }
                state.extensionLimit = argument.load(as: Int64.self)
                return SQLITE_OK
            }
        }
        table.xSectorSize = { file in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.methods.xSectorSize($0.system) }
        }
        table.xDeviceCharacteristics = { file in
            GatheringVFS.state(file)._withUnsafeGuaranteedRef { $0.methods.xDeviceCharacteristics($0.system) }
        }
        methods.initialize(to: table)
        return UnsafePointer(methods)
    }()
}

@_spi(Package) import NotifyCenter
import CSQLite
import Foundation
import Glibc

/// A layer over SQLite's VFS whose operations on the files of a watched folder fail on demand.
enum FaultyDisk {
    enum Fault {
        /// Writes and the creation of files fail for lack of space.
        case full
        case write
        case flush
        /// No operation opens or changes a file, as after the death of the process.
        case death
    }

    /// The operations that are counted and can fail.
    private enum Operation {
        case open
        case create
        case write
        case truncate
        case flush
        case remove
    }

    /// Operations are counted from 0. Operations in `first..<end` are subject to the fault.
    private struct Plan {
        var fault: Fault
        var first: Int
        var end: Int
        var operations = 0
    }

    private typealias Methods = UnsafePointer<sqlite3_io_methods>

    private struct File {
        var folder: String
        var path: String
        /// The address of the system's methods for the file.
        var system: UInt
    }

    private struct State {
        var plans: [String: Plan] = [:]
        var folders: Set<String> = []
        var files: [UInt: File] = [:]
        /// The unflushed changes of each file in folders that can lose power.
        var unflushed: [String: UnflushedChanges] = [:]
        var foldersThatLosePower: Set<String> = []
        /// The layer's method tables, by the addresses of the system's tables. SQLite has a table for each locking
        /// method.
        var tables: [UInt: UInt] = [:]
    }

    private static let state = Lock(State())

    /// Watches a folder. `set` can make operations fail on databases that are opened in the folder from now on.
    static func watch(_ folder: String) {
        precondition(isInstalled)
        state.withLock { _ = $0.folders.insert(folder) }
    }

    /// Lets the first `operations` operations succeed, and applies the fault to the next `count` operations, or to all
    /// later operations if `count` is nil. A nil `fault` ends all faults in the folder.
    static func set(_ fault: Fault?, in folder: String, after operations: Int = 0, count: Int? = nil) {
        let plan = fault.map { Plan(fault: $0, first: operations, end: count.map { operations + $0 } ?? .max) }
        state.withLock { $0.plans[folder] = plan }
    }

    /// Keeps the changes of files in a watched folder until they are flushed, so that ``losePower(in:using:)`` can undo
    /// them. Must be called before a database is opened in the folder.
    static func keepUnflushedChanges(in folder: String) {
        state.withLock { _ = $0.foldersThatLosePower.insert(folder) }
    }

    /// Undoes a random part of the changes that were not flushed, as a loss of power can. Must be called when no
    /// database in the folder is open.
    static func losePower(in folder: String, using generator: inout some RandomNumberGenerator) throws {
        let unflushed = state.withLock { state in
            let lost = state.unflushed.filter { $0.key.hasPrefix(folder + "/") }
            for path in lost.keys { state.unflushed[path] = nil }
            return lost
        }
        for (path, changes) in unflushed.sorted(by: { $0.key < $1.key }) {
            try changes.contents(using: &generator).write(to: URL(fileURLWithPath: path))
        }
    }

    /// The number of operations since the fault was set.
    static func operations(in folder: String) -> Int {
        state.withLock { $0.plans[folder]?.operations ?? 0 }
    }

    private static let systemAddress = UInt(bitPattern: sqlite3_vfs_find(nil))

    private static let isInstalled: Bool = {
        guard let system = UnsafeMutablePointer<sqlite3_vfs>(bitPattern: systemAddress) else { return false }
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("faulty"))
        layer.pointee.pNext = nil
        layer.pointee.xOpen = { _, name, file, flags, outFlags in
            let path = name.map { String(cString: $0) }
            if let code = path.flatMap({ FaultyDisk.failure(of: access($0, F_OK) == 0 ? .open : .create, at: $0) }) {
                file?.pointee.pMethods = nil
                return code
            }
            let system = UnsafeMutablePointer<sqlite3_vfs>(bitPattern: FaultyDisk.systemAddress)
            let code = system?.pointee.xOpen(system, name, file, flags, outFlags) ?? SQLITE_ERROR
            if code == SQLITE_OK, let path, let file { FaultyDisk.opened(path, file) }
            return code
        }
        layer.pointee.xDelete = { _, name, isFolderFlushed in
            if let code = name.flatMap({ FaultyDisk.failure(of: .remove, at: String(cString: $0)) }) { return code }
            let system = UnsafeMutablePointer<sqlite3_vfs>(bitPattern: FaultyDisk.systemAddress)
            return system?.pointee.xDelete(system, name, isFolderFlushed) ?? SQLITE_ERROR
        }
        return sqlite3_vfs_register(layer, 1) == SQLITE_OK
    }()

    private static func opened(_ path: String, _ file: UnsafeMutablePointer<sqlite3_file>) {
        let methods = state.withLock { state -> UInt in
            let system = UInt(bitPattern: file.pointee.pMethods)
            state.files[UInt(bitPattern: file)] = nil
            guard let folder = state.folders.first(where: { path.hasPrefix($0 + "/") }) else { return system }
            state.files[UInt(bitPattern: file)] = File(folder: folder, path: path, system: system)
            if state.tables[system] == nil { state.tables[system] = UInt(bitPattern: makeMethods(over: system)) }
            return state.tables[system] ?? system
        }
        file.pointee.pMethods = Methods(bitPattern: methods)
    }

    private static func makeMethods(over system: UInt) -> UnsafeMutablePointer<sqlite3_io_methods>? {
        guard let system = Methods(bitPattern: system) else { return nil }
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        methods.initialize(to: system.pointee)
        methods.pointee.xWrite = { file, bytes, count, offset in
            let (failure, system) = FaultyDisk.attempt(.write, file)
            if failure == nil, let bytes {
                let data = Data(bytes: bytes, count: Int(count))
                FaultyDisk.willChange(file, .write(data, offset: Int(offset)))
            }
            return failure ?? system?.pointee.xWrite(file, bytes, count, offset) ?? SQLITE_ERROR
        }
        methods.pointee.xTruncate = { file, size in
            let (failure, system) = FaultyDisk.attempt(.truncate, file)
            if failure == nil { FaultyDisk.willChange(file, .truncate(to: Int(size))) }
            return failure ?? system?.pointee.xTruncate(file, size) ?? SQLITE_ERROR
        }
        methods.pointee.xSync = { file, flags in
            let (failure, system) = FaultyDisk.attempt(.flush, file)
            let code = failure ?? system?.pointee.xSync(file, flags) ?? SQLITE_ERROR
            if code == SQLITE_OK { FaultyDisk.flushed(file) }
            return code
        }
        return methods
    }

    private static func willChange(_ file: UnsafeMutablePointer<sqlite3_file>?, _ change: UnflushedChanges.Change) {
        state.withLock { state in
            guard let known = state.files[UInt(bitPattern: file)], state.foldersThatLosePower.contains(known.folder)
            else {
                return
            }
            if state.unflushed[known.path] == nil {
                state.unflushed[known.path] = UnflushedChanges(
                    flushed: FileManager.default.contents(atPath: known.path) ?? Data())
            }
            state.unflushed[known.path]?.changes.append(change)
        }
    }

    private static func flushed(_ file: UnsafeMutablePointer<sqlite3_file>?) {
        state.withLock { state in
            if let known = state.files[UInt(bitPattern: file)] { state.unflushed[known.path] = nil }
        }
    }

    private static func attempt(
        _ operation: Operation, _ file: UnsafeMutablePointer<sqlite3_file>?
    ) -> (failure: Int32?, system: Methods?) {
        guard let known = state.withLock({ $0.files[UInt(bitPattern: file)] }) else { return (nil, nil) }
        return (failure(of: operation, inFolder: known.folder), Methods(bitPattern: known.system))
    }

    private static func failure(of operation: Operation, at path: String) -> Int32? {
        let folder = state.withLock { state in state.folders.first { path.hasPrefix($0 + "/") } }
        return folder.flatMap { failure(of: operation, inFolder: $0) }
    }

    /// Counts an operation.
    ///
    /// - Returns: SQLite's error code if the operation fails, otherwise nil.
    private static func failure(of operation: Operation, inFolder folder: String) -> Int32? {
        let fault = state.withLock { state -> Fault? in
            guard let plan = state.plans[folder] else { return nil }
            state.plans[folder]?.operations += 1
            return (plan.first..<plan.end).contains(plan.operations) ? plan.fault : nil
        }
        // SQLite reads the reason from `errno`.
        if let fault { errno = fault == .full ? ENOSPC : EIO }
        switch (fault, operation) {
        case (.full, .create): return SQLITE_CANTOPEN
        case (.full, .write): return SQLITE_FULL
        case (.write, .write), (.death, .write): return SQLITE_IOERR | (3 << 8)
        case (.flush, .flush), (.death, .flush): return SQLITE_IOERR | (4 << 8)
        case (.death, .open), (.death, .create): return SQLITE_CANTOPEN
        case (.death, .truncate): return SQLITE_IOERR | (6 << 8)
        case (.death, .remove): return SQLITE_IOERR | (10 << 8)
        default: return nil
        }
    }
}

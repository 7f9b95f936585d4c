import NotifyCenter
import CSQLite
import Glibc

/// SQLite's own file layer, made to fail on demand for the files of one folder.
enum FaultyDisk {
    enum Fault {
        case full
        case write
        case flush
    }

    private typealias Methods = UnsafePointer<sqlite3_io_methods>

    private struct File {
        var folder: String
        /// Addresses of the system's methods for the file, and of the layer's in their place.
        var system: UInt
    }

    private struct State {
        var faults: [String: Fault] = [:]
        var folders: Set<String> = []
        var files: [UInt: File] = [:]
        /// The layer's methods for each table of the system's: SQLite has one for each way of locking.
        var tables: [UInt: UInt] = [:]
    }

    private static let state = Lock(State())

    /// Watches a folder. Databases opened in it from now on can be made to fail.
    static func watch(_ folder: String) {
        precondition(isInstalled)
        state.withLock { _ = $0.folders.insert(folder) }
    }

    static func set(_ fault: Fault?, in folder: String) {
        state.withLock { $0.faults[folder] = fault }
    }

    private static let systemAddress = UInt(bitPattern: sqlite3_vfs_find(nil))

    private static let isInstalled: Bool = {
        guard let system = UnsafeMutablePointer<sqlite3_vfs>(bitPattern: systemAddress) else { return false }
        let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        layer.initialize(to: system.pointee)
        layer.pointee.zName = UnsafePointer(strdup("faulty"))
        layer.pointee.pNext = nil
        layer.pointee.xOpen = { _, name, file, flags, outFlags in
            let system = UnsafeMutablePointer<sqlite3_vfs>(bitPattern: FaultyDisk.systemAddress)
            let code = system?.pointee.xOpen(system, name, file, flags, outFlags) ?? SQLITE_ERROR
            if code == SQLITE_OK, let name, let file { FaultyDisk.opened(String(cString: name), file) }
            return code
        }
        return sqlite3_vfs_register(layer, 1) == SQLITE_OK
    }()

    private static func opened(_ path: String, _ file: UnsafeMutablePointer<sqlite3_file>) {
        let methods = state.withLock { state -> UInt in
            let system = UInt(bitPattern: file.pointee.pMethods)
            state.files[UInt(bitPattern: file)] = nil
            guard let folder = state.folders.first(where: { path.hasPrefix($0 + "/") }) else { return system }
            state.files[UInt(bitPattern: file)] = File(folder: folder, system: system)
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
            let (fault, system) = FaultyDisk.lookUp(file)
            return switch fault {
            case .full: SQLITE_FULL
            case .write: SQLITE_IOERR | (3 << 8)
            case .flush, nil: system?.pointee.xWrite(file, bytes, count, offset) ?? SQLITE_ERROR
            }
        }
        methods.pointee.xSync = { file, flags in
            let (fault, system) = FaultyDisk.lookUp(file)
            if fault == .flush { return SQLITE_IOERR | (4 << 8) }
            return system?.pointee.xSync(file, flags) ?? SQLITE_ERROR
        }
        return methods
    }

    private static func lookUp(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (Fault?, Methods?) {
        state.withLock { state in
            guard let known = state.files[UInt(bitPattern: file)] else { return (nil, nil) }
            return (state.faults[known.folder], Methods(bitPattern: known.system))
        }
    }
}

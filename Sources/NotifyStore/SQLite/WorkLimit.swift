import CSQLite
import Glibc

/// Ends the statements of a connection to a file of unknown origin once they have taken more steps than any log of the
/// file's size needs. A crafted file can contain a tree of pages, or a definition, that SQLite would process without
/// end.
final class WorkLimit {
    /// The permitted steps of SQLite's virtual machine: for an empty file, and for each byte of content. A check and a
    /// migration of a sound log take about a twentieth of them.
    private static let baseSteps: UInt64 = 50_000_000
    private static let stepsPerByte: UInt64 = 64
    /// The number of steps between two calls of the handler.
    private static let stepsPerCall: UInt64 = 10_000

    /// The number of calls that are left. Allocated separately, because SQLite has a pointer to it.
    private let calls: UnsafeMutablePointer<UInt64>

    /// - Parameter path: The path of the connection's database. A write-ahead log may be beside it.
    init(of connection: OpaquePointer?, path: String) {
        calls = .allocate(capacity: 1)
        calls.initialize(to: Self.steps(forDatabaseAt: path) / Self.stepsPerCall)
        sqlite3_progress_handler(
            connection, Int32(Self.stepsPerCall),
            { context in
                guard let calls = context?.assumingMemoryBound(to: UInt64.self), calls.pointee > 0 else { return 1 }
                calls.pointee -= 1
                return 0
            }, calls)
    }

    /// The permitted steps for a database and the write-ahead log beside it. Holes in a sparse file do not count.
    static func steps(forDatabaseAt path: String) -> UInt64 {
        let bytes = [path, path + "-wal"].map { path -> UInt64 in
            var status = stat()
            guard stat(path, &status) == 0 else { return 0 }
            return UInt64(max(0, min(status.st_size, status.st_blocks * 512)))
        }
        return baseSteps + bytes.reduce(0, +) * stepsPerByte
    }

    /// The connection must no longer call the handler, which uses the memory.
    deinit { calls.deallocate() }
}

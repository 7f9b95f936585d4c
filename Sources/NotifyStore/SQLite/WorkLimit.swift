import CSQLite
import Glibc

/// Ends the statements of a connection to a file of unknown origin once they have taken more steps than any log of the
/// file's size needs. A crafted file can contain a tree of pages, or a definition, that SQLite would read without end.
final class WorkLimit {
    /// The steps of SQLite's virtual machine for a connection to a file without content, and for each byte of content.
    /// A check and a migration of a sound log take about a twentieth of them.
    private static let baseSteps: UInt64 = 50_000_000
    private static let stepsPerByte: UInt64 = 64
    /// The steps after which SQLite calls the handler.
    private static let stepsPerCall: UInt64 = 10_000

    /// The calls that are left. In memory of its own, because SQLite has a pointer to it.
    private let calls: UnsafeMutablePointer<UInt64>

    /// - Parameter path: The database that the connection has open, beside which its write-ahead log may be.
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

    /// The most steps for a database and the write-ahead log beside it. The holes of a sparse file do not count.
    static func steps(forDatabaseAt path: String) -> UInt64 {
        let bytes = [path, path + "-wal"].map { path -> UInt64 in
            var status = stat()
            guard stat(path, &status) == 0 else { return 0 }
            return UInt64(max(0, min(status.st_size, status.st_blocks * 512)))
        }
        return baseSteps + bytes.reduce(0, +) * stepsPerByte
    }

    /// The connection must have no handler any more.
    deinit { calls.deallocate() }
}

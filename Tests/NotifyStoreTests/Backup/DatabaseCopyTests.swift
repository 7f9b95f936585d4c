import NotifySystem
import TestSupport
import Testing

@testable import NotifyStore

/// Copies of a database that changes between the steps.
struct DatabaseCopyTests {
    private let folder: TemporaryFolder
    private let source: DatabaseConnection

    init() throws {
        folder = try TemporaryFolder()
        try DatabaseFile(path: folder.file("source")).create()
        source = try DatabaseConnection(path: folder.file("source"))
        try source.execute("PRAGMA journal_mode = WAL; CREATE TABLE blobs (bytes BLOB)")
    }

    /// A row with more pages than two steps copy.
    private static let row = "INSERT INTO blobs VALUES (zeroblob(300000))"

    @Test func `a copy continues although the database grows between its steps`() throws {
        let copy = try DatabaseCopy(of: source, to: folder.file("copy"))
        for _ in 0..<110 {
            try source.execute(Self.row)
            #expect(try !copy.copy(until: .now))
        }
        #expect(try copy.copy(until: ContinuousClock.now + .seconds(60)))
    }

    @Test(arguments: [1, 2])
    func `a copy fails if rollbacks restart it again and again`(stepsBetween: Int) throws {
        try source.execute(Self.row)
        let copy = try DatabaseCopy(of: source, to: folder.file("copy"))
        var rollbacks = 0
        let error = #expect(throws: StoreError.self) {
            while rollbacks < 110 {
                for _ in 0..<stepsBetween { _ = try copy.copy(until: .now) }
                try source.execute("BEGIN; \(Self.row); ROLLBACK")
                rollbacks += 1
            }
        }
        #expect(error?.code == .inputOutput)
        #expect(rollbacks == 101)
    }
}

import Foundation
import TestSupport
import Testing

@testable import NotifyStore

@Suite struct WorkLimitTests {
    @Test func `the holes of a sparse file do not raise the limit of steps`() async throws {
        let folder = try TemporaryFolder()
        try Store.open(path: folder.database).close(nextSequence: 1)
        let steps = WorkLimit.steps(forDatabaseAt: folder.database)
        #expect(steps > WorkLimit.steps(forDatabaseAt: folder.file("none")))
        #expect(truncate(folder.database, 1 << 40) == 0)
        _ = try folder.write("", to: "log.db-wal")
        #expect(truncate(folder.database + "-wal", 1 << 40) == 0)
        #expect(WorkLimit.steps(forDatabaseAt: folder.database) < 2 * steps)
    }
}

import NotifySystem
import Testing

@Suite struct DiskSpaceTests {
    @Test func `the space on a file system is read`() throws {
        let space = try #require(DiskSpace(at: "/"))
        #expect(space.totalBytes > 0)
        #expect(space.freeBytes <= space.totalBytes)
        #expect(DiskSpace(at: "/no such file") == nil)
    }

    @Test(
        arguments: [
            (100 << 20, 4 << 20, true), (100 << 20, 6 << 20, false), (100 << 30, 1 << 30, false),
            (100 << 30, 1_073_741_823, true),
        ] as [(UInt64, UInt64, Bool)])
    func `a nearly full file system has a small free share and few free bytes`(
        total: UInt64, free: UInt64, isNearlyFull: Bool
    ) {
        #expect(DiskSpace(freeBytes: free, totalBytes: total).isNearlyFull == isNearlyFull)
    }
}

import Testing

@testable import notifyctl

@Suite struct ProgressBarTests {
    @Test(
        arguments: [
            (0, 2048, "[........................................]   0% 0B of 2KiB"),
            (1024, 2048, "[####################....................]  50% 1KiB of 2KiB"),
            (2047, 2048, "[#######################################.]  99% 1.9KiB of 2KiB"),
            (2048, 2048, "[########################################] 100% 2KiB of 2KiB"),
        ] as [(UInt64, UInt64, String)])
    func `a bar shows the part that is done`(done: UInt64, total: UInt64, line: String) {
        #expect(ProgressBar.line(done, of: total) == line)
    }

    @Test func `an unknown total has no bar`() {
        #expect(ProgressBar.line(0, of: 0) == nil)
    }
}

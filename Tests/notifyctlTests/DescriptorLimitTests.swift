import Glibc
import Testing

@testable import notifyctl

@Suite struct DescriptorLimitTests {
    private func softLimit(_ parallel: Int, isPrefixed: Bool = false, hard: rlim_t = 524_288) throws -> rlim_t {
        try DescriptorLimit.softLimit(parallel: parallel, isPrefixed: isPrefixed, soft: 1_024, hard: hard)
    }

    @Test func `the soft limit is raised only if needed, and only as far as needed`() throws {
        #expect(try softLimit(1) == 1_024)
        #expect(try softLimit(179) == 1_024)
        #expect(try softLimit(180) == 1_028)
        #expect(try softLimit(1_024) == 5_248)
        #expect(try softLimit(1_024, isPrefixed: true) == 7_296)
    }

    @Test func `more commands than the hard limit permits are refused`() throws {
        #expect(try softLimit(1_024, hard: 5_248) == 5_248)
        let error = #expect(throws: CommandFailure.self) { try softLimit(1_024, hard: 5_247) }
        #expect(error?.status == .usage)
        #expect(error?.message?.contains("--parallel 1024 needs 5248 file descriptors") == true)
    }
}

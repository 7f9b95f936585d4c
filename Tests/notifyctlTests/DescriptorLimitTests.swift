import Glibc
import Testing

@testable import notifyctl

@Suite struct DescriptorLimitTests {
    private func softLimit(_ parallel: Int, isPrefixed: Bool = false, hard: rlim_t = 524_288) throws -> rlim_t {
        try DescriptorLimit.softLimit(parallel: parallel, isPrefixed: isPrefixed, soft: 1_024, hard: hard)
    }

    @Test func `the soft limit stays as it is while it suffices, and is raised as far as needed`() throws {
        #expect(try softLimit(1) == 1_024)
        #expect(try softLimit(298) == 1_024)
        #expect(try softLimit(299) == 1_025)
        #expect(try softLimit(1_024) == 3_200)
        #expect(try softLimit(1_024, isPrefixed: true) == 7_296)
    }

    @Test func `more commands than the hard limit permits are refused`() throws {
        #expect(try softLimit(1_024, hard: 3_200) == 3_200)
        let error = #expect(throws: CommandFailure.self) { try softLimit(1_024, hard: 3_199) }
        #expect(error?.status == .usage)
        #expect(error?.message?.contains("--parallel 1024 needs 3200 file descriptors") == true)
    }
}

import Testing

@testable import NotifyServer

struct MemoryTrimmerTests {
    private static let least = MemoryTrimmer.minimumFreedBytes

    /// Calls the trimmer. Returns whether it has trimmed memory, and the time of the next call.
    private func call(
        _ trimmer: inout MemoryTrimmer, bytes: Int, after milliseconds: Int
    ) -> (hasTrimmed: Bool, again: Duration?) {
        var hasTrimmed = false
        let again = trimmer.trimIfNeeded(bytesInUse: bytes, now: .milliseconds(milliseconds)) { hasTrimmed = true }
        return (hasTrimmed, again)
    }

    @Test func `memory is trimmed once enough bytes were freed`() {
        var trimmer = MemoryTrimmer()
        #expect(call(&trimmer, bytes: Self.least, after: 0) == (false, nil))
        #expect(call(&trimmer, bytes: 1, after: 1) == (false, nil))
        #expect(call(&trimmer, bytes: 0, after: 2) == (true, .milliseconds(10_002)))
        #expect(call(&trimmer, bytes: 0, after: 1_000) == (false, .milliseconds(10_002)))
    }

    @Test func `memory is trimmed once more some time after the last trim`() {
        var trimmer = MemoryTrimmer()
        _ = call(&trimmer, bytes: Self.least, after: 0)
        _ = call(&trimmer, bytes: 0, after: 2)
        #expect(call(&trimmer, bytes: 0, after: 10_001) == (false, .milliseconds(10_002)))
        #expect(call(&trimmer, bytes: 0, after: 10_002) == (true, nil))
        #expect(call(&trimmer, bytes: 0, after: 60_000) == (false, nil))
    }

    @Test func `memory is trimmed at most once per interval`() {
        var trimmer = MemoryTrimmer()
        _ = call(&trimmer, bytes: Self.least, after: 0)
        #expect(call(&trimmer, bytes: 0, after: 10) == (true, .milliseconds(10_010)))
        _ = call(&trimmer, bytes: Self.least, after: 20)
        #expect(call(&trimmer, bytes: 0, after: 30) == (false, .milliseconds(260)))
        #expect(call(&trimmer, bytes: 0, after: 260) == (true, .milliseconds(10_260)))
    }
}

import Testing

@testable import NotifyCenter

/// Tests of the default hooks. The hooks run in a separate process, so that the test can read their standard error.
@Suite struct StandardErrorTests {
    private struct Failure: Error {}

    private static func text(_ result: ExitTest.Result?) -> [Substring] {
        String(decoding: result?.standardErrorContent ?? [], as: UTF8.self).split(separator: "\n")
            .filter { $0.contains("NotifyCenter: ") }
    }

    @Test func `errors and repetitions are printed as one line each`() async {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let center = LocalCenter()
            let owner = Thing()
            for _ in 0..<2 {
                center.observe(NotificationName(literal: "repeated"), owner: owner) { _, _ in }
            }
            let token = try center.observe("failing") { _ in throw Failure() }
            try center.post("failing")
            try center.post("failing")
            token.cancel()
        }
        let lines = Self.text(result)
        #expect(lines.count == 3)
        #expect(
            lines.first?.contains("an owner of type Thing repeatedly registers the same observation of 'repeated'")
                == true)
        #expect(lines.dropFirst().allSatisfy { $0.hasSuffix("threw an error for 'failing': Failure()") })
    }
}

import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

/// The text of `notifyctl trace`.
@Suite struct TraceTextTests {
    private func text(_ entries: [TraceEntry]) -> String {
        let stamp = Stamp(sequence: 7, timeMicroseconds: 0, uid: 1, gid: 2, pid: 3)
        let trace = Administration.Trace(
            message: .init(PostEntry(stamp: stamp, name: Array("a.b".utf8))), subscriptions: entries.map { .init($0) })
        return TraceCommand.text(trace, [:], .utc, .full)
    }

    @Test func `the text of an empty trace says that no subscription that the user may see matches`() {
        let lines = text([]).split(separator: "\n")
        #expect(lines.count == 2 && lines.first?.contains(" a.b ") == true)
        #expect(lines.last == "no durable subscription that you may see matches")
    }

    @Test func `each matching subscription has a line`() {
        let entries = ["d1", "d2"].map { TraceEntry(request: 1, state: .pending, uid: 54_321, durableName: $0) }
        let lines = text(entries).split(separator: "\n")
        #expect(lines.count == 4 && lines.last?.hasPrefix("d2") == true)
    }
}

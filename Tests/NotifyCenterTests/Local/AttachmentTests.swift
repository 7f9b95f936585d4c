import TestSupport
import Testing

@testable import NotifyCenter

/// What another library keeps with a center.
@Suite struct AttachmentTests {
    private final class Attached: Sendable {
        let label: String

        init(_ label: String) { self.label = label }
    }

    private final class Other: Sendable {}

    @Test func `it is made by the first who asks, and the same for all after him`() {
        let center = LocalCenter()
        let first = center.attachment(Attached.self) { Attached("first") }
        let second = center.attachment(Attached.self) {
            Issue.record("made again")
            return Attached("second")
        }
        #expect(first === second)
        _ = center.attachment(Other.self) { Other() }
        #expect(center.attachment(Attached.self) { Attached("third") } === first)
        #expect(LocalCenter().attachment(Attached.self) { Attached("of another center") } !== first)
    }

    @Test func `of two that are made at once, the first that is there stays`() {
        let center = LocalCenter()
        let inner = Later<Attached>()
        let outer = center.attachment(Attached.self) {
            inner.value = center.attachment(Attached.self) { Attached("inner") }
            return Attached("outer")
        }
        #expect(outer.label == "inner")
        #expect(outer === inner.value)
        #expect(center.attachment(Attached.self) { Attached("later") } === outer)
    }

    @Test func `it goes with the center`() {
        var center: LocalCenter? = LocalCenter()
        let gone = Weak(center?.attachment(Attached.self) { Attached("attached") })
        #expect(!gone.isGone)
        center = nil
        #expect(gone.isGone)
    }
}

import TestSupport
import Testing

@testable import NotifyCenter

/// Objects that other libraries attach to a center.
@Suite struct AttachmentTests {
    private final class Attached: Sendable {
        let label: String

        init(_ label: String) { self.label = label }
    }

    private final class Other: Sendable {}

    @Test func `an attachment is made once and then shared`() {
        let center = LocalCenter()
        let first = center.attachment(Attached.self) { Attached("first") }
        let second = center.attachment(Attached.self) {
            Issue.record("the attachment was created again")
            return Attached("second")
        }
        #expect(first === second)
        _ = center.attachment(Other.self) { Other() }
        #expect(center.attachment(Attached.self) { Attached("third") } === first)
        #expect(LocalCenter().attachment(Attached.self) { Attached("of another center") } !== first)
    }

    @Test func `the first of two attachments made concurrently is kept`() {
        let center = LocalCenter()
        let inner = LateValue<Attached>()
        let outer = center.attachment(Attached.self) {
            inner.value = center.attachment(Attached.self) { Attached("inner") }
            return Attached("outer")
        }
        #expect(outer.label == "inner")
        #expect(outer === inner.value)
        #expect(center.attachment(Attached.self) { Attached("later") } === outer)
    }

    @Test func `an attachment is released with its center`() {
        var center: LocalCenter? = LocalCenter()
        let gone = Weak(center?.attachment(Attached.self) { Attached("attached") })
        #expect(!gone.isGone)
        center = nil
        #expect(gone.isGone)
    }
}

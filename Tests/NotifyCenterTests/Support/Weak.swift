/// A weak reference, with which a test checks that an object was released.
struct Weak<Value: AnyObject & Sendable>: Sendable {
    private(set) weak var value: Value?

    init(_ value: Value?) { self.value = value }

    var isGone: Bool { value == nil }
}

/// An object to use as an owner, as the object of a post, or as a capture.
final class Thing: Sendable {}

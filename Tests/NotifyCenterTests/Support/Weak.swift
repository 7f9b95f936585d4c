/// Tells whether something is still there, and does not keep it.
struct Weak<Value: AnyObject & Sendable>: Sendable {
    private(set) weak var value: Value?

    init(_ value: Value?) { self.value = value }

    var isGone: Bool { value == nil }
}

/// Something to be an owner, an object of posts, or what a closure captures.
final class Thing: Sendable {}

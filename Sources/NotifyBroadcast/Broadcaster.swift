public import NotifyCenter

/// The protocol of the classes that ``Broadcast()`` generates.
///
/// A broadcaster also conforms to the protocol that it broadcasts, and has `register(_:for:)` and `unregister(_:for:)`.
public protocol Broadcaster: AnyObject {
    /// Creates a broadcaster without receivers, separate from the shared one.
    init()
}

extension Broadcaster where Self: Sendable {
    /// Returns the broadcaster of this type that all users of a center share.
    ///
    /// The shared broadcaster is created on first use and exists as long as the center. Only broadcasters that are
    /// `Sendable` can be shared: the broadcasters of a protocol that is `Sendable` or isolated to a global actor.
    public static func shared(in center: LocalCenter = .default) -> Self {
        center.attachment(Self.self) { Self() }
    }
}

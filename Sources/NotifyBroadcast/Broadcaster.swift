public import NotifyCenter

/// What ``Broadcast()`` makes conforms to this.
///
/// A broadcaster conforms to the protocol it was made for as well, and has `register(_:for:)` and `unregister(_:for:)`.
public protocol Broadcaster: AnyObject {
    /// Makes a broadcaster of its own, which nobody else posts to.
    init()
}

extension Broadcaster where Self: Sendable {
    /// The broadcaster that all parts of a program share that share a center.
    ///
    /// It is made when it is first asked for, and lives as long as the center. Only broadcasters that may be used on
    /// any thread can be shared: those of a protocol that is `Sendable` or bound to a global actor.
    public static func shared(in center: LocalCenter = .default) -> Self {
        center.attachment(Self.self) { Self() }
    }
}

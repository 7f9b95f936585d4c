/// The number of notifications that may wait for an observer or a reader, and the policy when the buffer is full.
///
/// Dropped notifications are counted: see ``ObservationHandle/droppedCount`` and ``NotificationSequence/droppedCount``.
public struct Buffering: Sendable, Hashable {
    enum Overflow: Sendable, Hashable {
        case dropOldest
        case dropNewest
        case wait
    }

    /// The default limit.
    public static let defaultLimit = 1_024

    let overflow: Overflow
    /// The maximum number of waiting notifications. Must be at least 1.
    public let limit: Int

    private init(_ overflow: Overflow, limit: Int) {
        precondition(limit > 0, "the limit of buffered notifications must be at least 1")
        self.overflow = overflow
        self.limit = limit
    }

    /// Drops the oldest waiting notification if the buffer is full.
    public static func dropOldest(limit: Int = defaultLimit) -> Buffering {
        Buffering(.dropOldest, limit: limit)
    }

    /// Drops the new notification if the buffer is full.
    public static func dropNewest(limit: Int = defaultLimit) -> Buffering {
        Buffering(.dropNewest, limit: limit)
    }

    /// Makes ``LocalCenter/postWaiting(_:object:payload:asValues:)-(NotificationName,_,_,_)`` wait for room if the
    /// buffer is full. Other post methods do not wait: their new notification is dropped.
    public static func wait(limit: Int = defaultLimit) -> Buffering {
        Buffering(.wait, limit: limit)
    }
}

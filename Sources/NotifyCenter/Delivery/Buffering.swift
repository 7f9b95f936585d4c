/// How many notifications may wait for an observer or a reader, and what happens to those that find no room.
///
/// What is dropped is counted: see ``Observation/droppedCount`` and ``NotificationSequence/droppedCount``.
public struct Buffering: Sendable, Hashable {
    enum Overflow: Sendable, Hashable {
        case dropOldest
        case dropNewest
        case wait
    }

    /// How many may wait if nothing else is said.
    public static let defaultLimit = 1_024

    let overflow: Overflow
    /// How many may wait: at least 1. Less is a mistake in the program and stops it.
    public let limit: Int

    private init(_ overflow: Overflow, limit: Int) {
        precondition(limit > 0, "at least one notification must be able to wait")
        self.overflow = overflow
        self.limit = limit
    }

    /// If there is no room, the one that waits longest goes for the new one.
    public static func dropOldest(limit: Int = defaultLimit) -> Buffering {
        Buffering(.dropOldest, limit: limit)
    }

    /// If there is no room, the new one is dropped.
    public static func dropNewest(limit: Int = defaultLimit) -> Buffering {
        Buffering(.dropNewest, limit: limit)
    }

    /// If there is no room, ``LocalCenter/postWaiting(_:object:payload:retaining:)-(NotificationName,_,_,_)`` waits until
    /// there is. Other posts cannot wait: what they post is dropped.
    public static func wait(limit: Int = defaultLimit) -> Buffering {
        Buffering(.wait, limit: limit)
    }
}

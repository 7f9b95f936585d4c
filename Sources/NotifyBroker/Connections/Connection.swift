import NotifyWire

/// What the broker knows of one connection, beside its outbox.
struct Connection {
    /// A subscription by the number that the client gave it.
    enum Subscription {
        case volatile(registration: UInt64)
        case durable(reader: Int)
    }

    let id: ConnectionID
    let peer: Peer
    var session: Session
    var instance = ClientInstance(high: 0, low: 0)
    var overflow = OverflowPolicy.dropOldest
    var subscriptions: [UInt32: Subscription] = [:]
    /// Requests to attach to a durable subscription whose answer waits for a commit.
    var unansweredAttaches: Set<UInt64> = []
    /// Posts whose receipt waits for a commit.
    var unreceiptedPosts = 0
    /// Bytes of a frame that has not arrived whole.
    var partialBytes = 0
    /// What its user is charged for bytes that wait in its outbox.
    var chargedOutboxBytes = 0
    /// Durable readers wait until its outbox has room.
    var hasHeldReaders = false
    /// Why it is not read from; empty while it is.
    var pauses: Set<Pause> = []

    enum Pause {
        case answersUnread
        case logBehind
    }
}

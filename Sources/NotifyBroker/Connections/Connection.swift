import NotifyLog
import NotifyWire

/// The state of one connection, except for its outbox.
struct Connection {
    /// A subscription by the number that the client gave it.
    enum Subscription {
        case volatile(registration: UInt64)
        case durable(DurableSlot)
    }

    enum Pause {
        case answersUnread
        case logBehind
    }

    let id: ConnectionID
    /// The peer's identity for stamps and accounts.
    let uid: UInt32
    let gid: UInt32
    let pid: UInt32
    /// The same, with groups, for rights.
    let identity: IdentityID
    var session: Session
    var instance = ClientInstance(high: 0, low: 0)
    var overflow = OverflowPolicy.dropOldest
    var subscriptions: [UInt32: Subscription] = [:]
    /// Requests to attach to a durable subscription whose answer waits for a commit.
    var unansweredAttaches: Set<UInt64> = []
    /// Posts whose receipt waits for a commit.
    private(set) var unreceiptedPosts = 0
    /// Bytes charged for a frame that has not arrived whole.
    private(set) var receivedBytes = 0
    /// Bytes charged for its outbox.
    private(set) var outboxBytes = 0
    /// Readers wait until its outbox has room.
    var hasHeldReaders = false
    /// Why it is not read from; empty while it is.
    var pauses: Set<Pause> = []

    init(id: ConnectionID, peer: Peer, identity: IdentityID, session: Session) {
        self.id = id
        uid = peer.identity.uid
        gid = peer.identity.gid
        pid = peer.pid
        self.identity = identity
        self.session = session
    }

    mutating func receiptOwed() {
        unreceiptedPosts += 1
    }

    mutating func receiptSettled() {
        unreceiptedPosts -= 1
    }

    /// Charges the connection with `bytes` of a frame that has not arrived whole, and returns how many more that are.
    mutating func charge(receivedBytes bytes: Int) -> Int {
        defer { receivedBytes = bytes }
        return bytes - receivedBytes
    }

    /// Charges the connection with `bytes` in its outbox, and returns how many more that are.
    mutating func charge(outboxBytes bytes: Int) -> Int {
        defer { outboxBytes = bytes }
        return bytes - outboxBytes
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire

/// The state of one connection, except for its outbox.
struct Connection {
    /// A subscription by the number that the client gave it.
    enum Subscription {
        case volatile([SubscriptionLink])
        case durable(DurableSlot)
    }

    /// Why it is not read from.
    struct Pauses: OptionSet {
        let rawValue: UInt8

        static let answersUnread = Pauses(rawValue: 1)
        static let logBehind = Pauses(rawValue: 2)
        /// What it sent is not processed yet.
        static let backlog = Pauses(rawValue: 4)
    }

    /// Where it is with what it sent and was not processed.
    enum Turn {
        /// There is nothing that could be processed.
        case none
        /// It is in the queue.
        case waiting
        /// It goes on now.
        case going
        /// It is to be queued when no other reason is left not to read from it.
        case held
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
    /// In the center, for all its volatile subscriptions; nil before the first one.
    var registration: UInt64?
    /// Requests to attach to a durable subscription whose answer waits for a commit.
    var unansweredAttaches: Set<UInt64> = []
    /// Posts whose receipt waits for a commit.
    private(set) var unreceiptedPosts = 0
    /// Bytes charged for a frame that has not arrived whole.
    private(set) var receivedBytes = 0
    /// Bytes charged for its outbox: of volatile messages, of its own memory, and the user's shared blocks at that time.
    var outboxCharge = (waiting: 0, own: 0, shared: 0)
    /// The user's.
    let heldBlocks: HeldBlocks
    /// Readers wait until its outbox has room.
    var hasHeldReaders = false
    /// Empty while it is read from.
    var pauses: Pauses = []
    var turn = Turn.none
    /// The durable subscriptions that are still to be listed for a request; nil while it asked for no list.
    var listing: Listing?

    init(id: ConnectionID, peer: Peer, identity: IdentityID, session: Session, heldBlocks: HeldBlocks) {
        self.heldBlocks = heldBlocks
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
}

import NotifyCenter
import NotifyLog
import NotifyWire

/// The state of one connection, except for its outbox.
struct Connection {
    /// A subscription, under the number that the client assigned.
    enum Subscription {
        case volatile([SubscriptionLink])
        case durable(DurableSlot)
    }

    /// The reasons why the connection is not read from.
    struct Pauses: OptionSet {
        let rawValue: UInt8

        static let answersUnread = Pauses(rawValue: 1)
        static let logBehind = Pauses(rawValue: 2)
        /// Received frames are not processed yet.
        static let backlog = Pauses(rawValue: 4)
    }

    /// The scheduling state of the connection's unprocessed frames.
    enum Turn {
        /// There is nothing to process.
        case none
        /// It is in the queue.
        case queued
        /// Its frames are being processed now.
        case running
        /// It will be queued when `backlog` is the only reason left not to read from it.
        case deferred
    }

    let id: ConnectionID
    /// The peer's ids, for stamps and accounting.
    let uid: UInt32
    let gid: UInt32
    let pid: UInt32
    /// The peer's identity, with groups, for rights.
    let identity: IdentityID
    var session: Session
    var instance = InstanceID(high: 0, low: 0)
    var overflow = OverflowPolicy.dropOldest
    var subscriptions: [UInt32: Subscription] = [:]
    /// The registration in the center for all its volatile subscriptions; nil before the first one.
    var registration: UInt64?
    /// Requests to attach to a durable subscription that wait for their commit.
    var unansweredAttaches: Set<UInt64> = []
    /// Posts that wait for their commit to be answered with a receipt.
    private(set) var postsAwaitingReceipts = 0
    /// Bytes charged for received and unprocessed frames, incomplete ones included.
    private(set) var receivedBytes = 0
    /// Bytes charged for its outbox: volatile messages, memory of its own, and the user's shared blocks at that time.
    var outboxCharge = (waiting: 0, own: 0, shared: 0)
    /// The shared blocks of the connection's user.
    let retainedBlocks: RetainedBlocks
    /// Whether log readers wait for room in its outbox.
    var hasBlockedReaders = false
    /// Empty while it is read from.
    var pauses: Pauses = []
    var turn = Turn.none
    /// The list request that is being answered; nil if there is none.
    var listing: Listing?

    init(id: ConnectionID, peer: Peer, identity: IdentityID, session: Session, retainedBlocks: RetainedBlocks) {
        self.retainedBlocks = retainedBlocks
        self.id = id
        uid = peer.identity.uid
        gid = peer.identity.gid
        pid = peer.pid
        self.identity = identity
        self.session = session
    }

    mutating func receiptRequested() {
        postsAwaitingReceipts += 1
    }

    mutating func receiptResolved() {
        postsAwaitingReceipts -= 1
    }

    /// Sets the charge for received and unprocessed bytes. Returns by how many bytes it grew.
    mutating func charge(receivedBytes bytes: Int) -> Int {
        defer { receivedBytes = bytes }
        return bytes - receivedBytes
    }
}

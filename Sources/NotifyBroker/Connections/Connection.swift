import NotifyCenter
import NotifyLog
import NotifyWire

/// The state of one connection, except for its outbox.
struct Connection {
    /// A subscription, under the number that the client assigned.
    enum Subscription {
        case volatile([SubscriptionLink])
        case durable(DurableSlot, member: Int)
    }

    /// Reasons to pause reading from the connection.
    struct Pauses: OptionSet {
        let rawValue: UInt8

        /// The peer has not read earlier answers.
        static let answersUnread = Pauses(rawValue: 1)
        /// The connection waits for the next outcome of a batch.
        static let logBehind = Pauses(rawValue: 2)
        /// Received frames are not processed yet.
        static let backlog = Pauses(rawValue: 4)
        /// The user posts faster than its limit.
        static let rateExceeded = Pauses(rawValue: 8)
        /// A request waits for the store to read from the log: a trace, a summary, a list with counts of messages, or a
        /// search for the sequence at which a time begins.
        static let awaitingPage = Pauses(rawValue: 16)
        /// The connection posts, and the output of its user's earlier posts is not flushed yet.
        static let outputBehind = Pauses(rawValue: 32)
    }

    /// The scheduling state of the connection's unprocessed frames.
    enum Turn {
        /// There is nothing to process.
        case none
        /// The connection is in the queue.
        case queued
        /// The connection's frames are being processed now.
        case running
        /// The connection will be queued when `backlog` is the only remaining reason to pause it.
        case deferred
    }

    /// Counts since the connection was opened.
    struct Counters {
        /// Posts accepted.
        var posts: UInt64 = 0
        /// Requests refused.
        var refused: UInt64 = 0
        /// Messages dropped from the outbox.
        var dropped: UInt64 = 0
        /// Messages that the client reported as dropped, at most as many as it was sent.
        var droppedByClient: UInt64 = 0
    }

    let id: ConnectionID
    /// Identifies the connection for users. Rises from 1.
    let number: UInt64
    /// The time at which the connection was opened, in microseconds since 1970.
    let openedMicroseconds: UInt64
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
    /// The registration in the center for all volatile subscriptions; nil before the first volatile subscription.
    var registration: UInt64?
    /// The unanswered requests to attach to a durable subscription. Each waits for a commit.
    var unansweredAttaches: Set<UInt64> = []
    /// The id of the batch that was next when a frame began to wait for a change of a durable subscription; nil if no
    /// frame waits for such a change.
    var waitsSince: UInt64?
    /// The unanswered requests to servers, by number.
    var asks: [UInt64: CallID] = [:]
    /// The servers of this connection, also those that have ended but still hold calls.
    var servers: [ServerID] = []
    /// Whether the servers get no calls until the peer has read earlier ones.
    var hasBlockedServers = false
    /// The number of requests for stored messages that are not answered yet.
    var historyReads = 0
    /// The number of requests that read or clear values and are not answered yet.
    var valueReads = 0
    /// The number of other requests whose answer waits for a commit or for the host.
    private(set) var pendingAnswers = 0
    /// Whether the peer has shut down its sending direction. If so, the connection ends when everything is answered.
    var isInputEnded = false
    /// The number of posts whose receipt waits for a commit.
    private(set) var postsAwaitingReceipts = 0
    /// The account of the user's stored messages; nil before the connection's first post to be stored.
    var storedAccount: StoredUsages.Account?
    /// Bytes charged for unprocessed frames, including incomplete ones.
    private(set) var receivedBytes = 0
    /// The last charge for the outbox, in bytes: volatile messages, unshared memory, and the user's shared blocks.
    var outboxCharge = (waiting: 0, own: 0, shared: 0)
    /// The number of bytes charged for the content of the socket.
    var socketBytes = 0
    /// The shared blocks of the connection's user.
    let retainedBlocks: RetainedBlocks
    /// Whether log readers wait for room in the outbox.
    var hasBlockedReaders = false
    /// The durable subscriptions whose readers wait for room in the outbox. Some may have been removed.
    private var blockedDurables: Set<DurableSlot> = []
    /// The reasons why reading is paused; empty while the connection is read.
    var pauses: Pauses = []
    var turn = Turn.none
    /// The request that is being answered entry by entry; nil if there is none.
    var listing: Listing?
    var counters = Counters()

    init(
        id: ConnectionID, number: UInt64, openedMicroseconds: UInt64, peer: Peer, identity: IdentityID,
        session: Session, retainedBlocks: RetainedBlocks
    ) {
        self.number = number
        self.openedMicroseconds = openedMicroseconds
        self.retainedBlocks = retainedBlocks
        self.id = id
        uid = peer.identity.uid
        gid = peer.identity.gid
        pid = peer.pid
        self.identity = identity
        self.session = session
    }

    /// Records that messages of a durable subscription wait for room in the outbox.
    mutating func blocked(_ durable: DurableSlot) {
        hasBlockedReaders = true
        blockedDurables.insert(durable)
    }

    /// Forgets the readers that wait for room in the outbox, and returns the durable subscriptions among them.
    mutating func takeBlocked() -> Set<DurableSlot> {
        defer { (hasBlockedReaders, blockedDurables) = (false, []) }
        return blockedDurables
    }

    mutating func answerPending() { pendingAnswers += 1 }

    mutating func answerResolved() { pendingAnswers -= 1 }

    mutating func receiptRequested() {
        postsAwaitingReceipts += 1
    }

    mutating func receiptResolved() {
        postsAwaitingReceipts -= 1
    }

    /// Sets the charge for received and unprocessed bytes.
    ///
    /// - Returns: The change of the charge in bytes.
    mutating func charge(receivedBytes bytes: Int) -> Int {
        defer { receivedBytes = bytes }
        return bytes - receivedBytes
    }
}

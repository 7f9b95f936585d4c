import NotifyLog
import NotifyWire

/// The items of a list that are still to be sent.
///
/// A source decides which items follow, and the broker writes an entry for each item. An item may no longer exist at
/// its turn: its subscription, connection or count may have been removed since the list began.
enum ListSource {
    /// The connections of a user, or of all users.
    case clients(Visits)
    /// Durable subscriptions, then the volatile subscriptions and servers on the connections of one user or of all
    /// users.
    case subscriptions(durables: ArraySlice<DurableID>, Visits)
    /// Durable subscriptions.
    case durables(ArraySlice<DurableID>)
    /// Durable subscriptions with the number of their unacknowledged messages.
    case backlogs(ArraySlice<DurableID>)
    /// One durable subscription. Its description ends the request.
    case description(DurableID)
    /// The state of a stored message in durable subscriptions.
    case trace(Traced, ArraySlice<DurableID>)
    /// Counted names, by index.
    case names(Range<Int>)
    /// The number of recorded posts of the connection's monitor.
    case posts(Int)
    /// Names, with the number and size of their stored messages.
    case storedNames(ArraySlice<LogSummary.Name>)

    /// The connections that a list still has to visit.
    struct Visits {
        /// The user whose connections are listed; nil for all users. Decided once per list, because the decision takes
        /// longer than sending an entry.
        let uid: UInt32?
        /// The slots of connections still to be visited.
        var slots: Range<Int>
        /// The connection that was visited last, and its volatile subscriptions and servers that are still to be
        /// listed.
        var registrations: (connection: ConnectionID, volatiles: ArraySlice<UInt32>, servers: ArraySlice<ServerID>)?

        init(of uid: UInt32?, slots: Range<Int>) {
            (self.uid, self.slots) = (uid, slots)
        }
    }

    /// The message of a trace.
    struct Traced {
        let message: PostEntry
        /// For each durable subscription, the reason of the last failed delivery of the message, as recorded in the
        /// log.
        let reasons: [DurableID: String]
    }

    enum Item {
        case client(ConnectionSlot, of: UInt32?)
        /// A connection whose volatile subscriptions and servers are to be listed next.
        case subscriber(ConnectionSlot, of: UInt32?)
        case volatile(UInt32, of: ConnectionID)
        case server(ServerID, of: ConnectionID)
        case subscription(DurableID)
        case backlog(DurableID)
        case description(DurableID)
        case traced(DurableID, Traced)
        case name(Int)
        case post
        case storedName(LogSummary.Name)
    }

    /// Takes the next item; nil if the list is complete.
    mutating func next() -> Item? {
        switch self {
        case .clients(var visits):
            defer { self = .clients(visits) }
            return visits.slots.popFirst().map { .client(ConnectionSlot(Int32($0)), of: visits.uid) }
        case .subscriptions(var durables, var visits):
            defer { self = .subscriptions(durables: durables, visits) }
            return durables.popFirst().map { .subscription($0) } ?? visits.nextSubscription()
        case .durables(var durables):
            defer { self = .durables(durables) }
            return durables.popFirst().map { .subscription($0) }
        case .backlogs(var durables):
            defer { self = .backlogs(durables) }
            return durables.popFirst().map { .backlog($0) }
        case .description(let durable):
            return .description(durable)
        case .trace(let traced, var durables):
            defer { self = .trace(traced, durables) }
            return durables.popFirst().map { .traced($0, traced) }
        case .names(var indices):
            defer { self = .names(indices) }
            return indices.popFirst().map { .name($0) }
        case .posts(let count):
            self = .posts(max(0, count - 1))
            return count > 0 ? .post : nil
        case .storedNames(var names):
            defer { self = .storedNames(names) }
            return names.popFirst().map { .storedName($0) }
        }
    }

    /// Lists the volatile subscriptions and the servers of a connection next.
    mutating func visited(_ connection: ConnectionID, volatiles: [UInt32], servers: [ServerID]) {
        guard case .subscriptions(let durables, var visits) = self else { return }
        visits.registrations = (connection, volatiles[...], servers[...])
        self = .subscriptions(durables: durables, visits)
    }
}

extension ListSource.Visits {
    fileprivate mutating func nextSubscription() -> ListSource.Item? {
        if let connection = registrations?.connection {
            if let number = registrations?.volatiles.popFirst() { return .volatile(number, of: connection) }
            if let server = registrations?.servers.popFirst() { return .server(server, of: connection) }
            registrations = nil
        }
        return slots.popFirst().map { .subscriber(ConnectionSlot(Int32($0)), of: uid) }
    }
}

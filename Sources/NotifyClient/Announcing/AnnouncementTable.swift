import NotifyWire

/// The values that the client announces, kept across connections.
struct AnnouncementTable {
    enum Phase: Equatable {
        /// Waiting for a connection, until the deadline if the value was never announced, otherwise without limit.
        case waiting(deadline: Duration?)
        /// Requested, not answered yet.
        case requested
        /// Announced.
        case live
    }

    struct Entry {
        var content: AnnouncedContent
        /// Whether to replace a value of another connection. Only at first: a value that was lost to another client is
        /// not taken back.
        var takesOver: Bool
        let end: AnnouncementEnd
        var phase = Phase.waiting(deadline: nil)
        /// The last request on this connection with which the daemon has announced the value; 0 if there is none.
        var request: UInt64 = 0
        /// The task that waits for the first confirmation.
        var openWaiter: ReplySlot<Announced>?
    }

    private var entries: [UInt32: Entry] = [:]
    private var lastNumber: UInt32 = 0
    /// The number of entries with a deadline.
    private var deadlineCount = 0

    var numbers: [UInt32] { entries.keys.sorted() }

    /// The entry of an announcement; nil if there is none.
    subscript(number: UInt32) -> Entry? { entries[number] }

    mutating func add(_ entry: Entry) -> UInt32 {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || entries[lastNumber] != nil
        entries[lastNumber] = entry
        deadlineCount += entry.deadline == nil ? 0 : 1
        return lastNumber
    }

    /// Changes an entry in place, if there is one.
    mutating func update(_ number: UInt32, _ body: (inout Entry) -> Void) {
        guard var entry = entries.removeValue(forKey: number) else { return }
        deadlineCount -= entry.deadline == nil ? 0 : 1
        body(&entry)
        deadlineCount += entry.deadline == nil ? 0 : 1
        entries[number] = entry
    }

    mutating func remove(_ number: UInt32) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        deadlineCount -= entry.deadline == nil ? 0 : 1
        return entry
    }

    /// Whether a value is announced under the name and object of a message.
    func contains(_ message: NotificationClient.OutgoingMessage) -> Bool {
        entries.values.contains {
            $0.content.message.name == message.name && $0.content.message.object == message.object
        }
    }

    func number(ofOpenWaiter slot: AnyObject) -> UInt32? { entries.first { $0.value.openWaiter === slot }?.key }

    func number(announcedBy request: UInt64) -> UInt32? { entries.first { $0.value.request == request }?.key }

    var nextDeadline: Duration? {
        deadlineCount == 0 ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// The announcements whose wait for a connection is over.
    func expired(now: Duration) -> [UInt32] {
        deadlineCount == 0 ? [] : numbers.filter { entries[$0]?.deadline.map { $0 <= now } ?? false }
    }
}

extension AnnouncementTable.Entry {
    fileprivate var deadline: Duration? {
        if case .waiting(let deadline) = phase { deadline } else { nil }
    }
}

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

    var numbers: [UInt32] { entries.keys.sorted() }

    /// The entry of an announcement, changed in place; nil if there is none.
    subscript(number: UInt32) -> Entry? {
        get { entries[number] }
        set { entries[number] = newValue }
    }

    mutating func add(_ entry: Entry) -> UInt32 {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || entries[lastNumber] != nil
        entries[lastNumber] = entry
        return lastNumber
    }

    mutating func remove(_ number: UInt32) -> Entry? { entries.removeValue(forKey: number) }

    func number(ofOpenWaiter slot: AnyObject) -> UInt32? { entries.first { $0.value.openWaiter === slot }?.key }

    func number(announcedBy request: UInt64) -> UInt32? { entries.first { $0.value.request == request }?.key }

    var nextDeadline: Duration? {
        entries.isEmpty ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// The announcements whose wait for a connection is over.
    func expired(now: Duration) -> [UInt32] {
        entries.isEmpty ? [] : numbers.filter { entries[$0]?.deadline.map { $0 <= now } ?? false }
    }
}

extension AnnouncementTable.Entry {
    fileprivate var deadline: Duration? {
        if case .waiting(let deadline) = phase { deadline } else { nil }
    }
}

import NotifyWire

/// The client's servers, kept across connections.
struct ServerTable {
    enum Phase: Equatable {
        /// Waiting for a connection, until the deadline if the server was never registered, otherwise without limit.
        case waiting(deadline: Duration?)
        /// Requested, not answered yet.
        case requested
        /// Registered by the daemon.
        case live
        /// Being ended; the daemon's confirmation is pending.
        case ending
        /// No further call follows; handlers may still run.
        case ended
    }

    struct Entry {
        let patterns: [String]
        let concurrency: UInt32
        let calls: ReceivedCalls
        var phase: Phase
        /// The task that waits for the first confirmation.
        var openWaiter: ReplySlot<Void>?
        /// The task that has waited for the handlers, and now waits for the end.
        var endWaiter: ReplySlot<Void>?
    }

    private var entries: [UInt32: Entry] = [:]
    private var lastNumber: UInt32 = 0

    var isEmpty: Bool { entries.isEmpty }

    var numbers: [UInt32] { entries.keys.sorted() }

    /// The entry of a server, changed in place; nil if there is none.
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

    var nextDeadline: Duration? {
        entries.isEmpty ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// The servers whose wait for a connection is over.
    func expired(now: Duration) -> [UInt32] {
        entries.isEmpty ? [] : numbers.filter { entries[$0]?.deadline.map { $0 <= now } ?? false }
    }
}

extension ServerTable.Entry {
    fileprivate var deadline: Duration? {
        if case .waiting(let deadline) = phase { deadline } else { nil }
    }
}

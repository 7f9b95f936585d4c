import NotifyWire

/// The client's subscriptions through all of its connections.
struct SubscriptionTable {
    enum Phase: Equatable {
        /// For a connection; until the deadline the first time, else for as long as it takes.
        case waiting(deadline: Duration?)
        /// Asked for, not answered yet.
        case requested
        case live
        /// Being left.
        case detaching(deadline: Duration)
    }

    struct Entry {
        let spec: SubscriptionSpec
        let buffer: DeliveryBuffer
        let ledger: AcknowledgementLedger?
        var phase: Phase
        /// Whoever opened it and waits for that.
        var opener: ReplySlot<Void>?
        /// Whoever waits for its end.
        var leavers: [ReplySlot<Void>] = []
        /// Where it stood when the connection was lost; nil before it was ever live.
        var lastSequence: UInt64?
        /// Messages that a bounded durable subscription may still be handed.
        var creditLeft: UInt32?
        /// One extra credit was given, to find out which acknowledgements did not arrive.
        var hasExtraCredit = false

        init(spec: SubscriptionSpec, buffer: DeliveryBuffer, ledger: AcknowledgementLedger?, opener: ReplySlot<Void>) {
            self.spec = spec
            self.buffer = buffer
            self.ledger = ledger
            self.opener = opener
            phase = .waiting(deadline: nil)
            creditLeft = spec.isDurable ? spec.limit.map { UInt32(clamping: min($0, Int(Int32.max))) } : nil
        }

        var isDetaching: Bool {
            if case .detaching = phase { true } else { false }
        }
    }

    private var entries: [UInt32: Entry] = [:]
    private var lastNumber: UInt32 = 0
    /// How many have a deadline, so that the usual answer, that none has, costs nothing.
    private var timedCount = 0

    var numbers: [UInt32] { entries.keys.sorted() }

    subscript(number: UInt32) -> Entry? {
        entries[number]
    }

    /// Calls `body` with an entry to change it in place, if it is there.
    mutating func update<Result>(_ number: UInt32, _ body: (inout Entry) -> Result) -> Result? {
        guard let index = entries.index(forKey: number) else { return nil }
        timedCount -= entries.values[index].deadline == nil ? 0 : 1
        defer { timedCount += entries.values[index].deadline == nil ? 0 : 1 }
        return body(&entries.values[index])
    }

    /// Adds an entry under a number that is free.
    mutating func add(_ entry: Entry) -> UInt32 {
        repeat { lastNumber = lastNumber == .max ? 1 : lastNumber + 1 } while entries[lastNumber] != nil
        entries[lastNumber] = entry
        timedCount += entry.deadline == nil ? 0 : 1
        entry.ledger?.number = lastNumber
        entry.buffer.number = lastNumber
        return lastNumber
    }

    mutating func remove(_ number: UInt32) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        timedCount -= entry.deadline == nil ? 0 : 1
        return entry
    }

    /// Whether a durable subscription of this name is open, and not being left.
    func hasDurable(_ name: String) -> Bool {
        entries.values.contains { $0.spec.durableName == name && !$0.isDetaching }
    }

    /// Whether the daemon's confirmation of a detach is pending.
    var isAnyDetaching: Bool { timedCount > 0 && entries.values.contains { $0.isDetaching } }

    var isEmpty: Bool { entries.isEmpty }

    /// The earliest moment at which something has waited too long.
    var nextDeadline: Duration? {
        timedCount == 0 ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// Those that have waited too long.
    func expired(now: Duration) -> [UInt32] {
        timedCount == 0 ? [] : numbers.filter { entries[$0]?.deadline.map { $0 <= now } ?? false }
    }
}

extension SubscriptionTable.Entry {
    fileprivate var deadline: Duration? {
        switch phase {
        case .waiting(let deadline): deadline
        case .detaching(let deadline): deadline
        case .requested, .live: nil
        }
    }
}

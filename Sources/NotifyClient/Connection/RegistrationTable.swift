import NotifyWire

/// Something that the daemon keeps for a connection, and that the client registers again on each connection.
protocol Registration {
    associatedtype Confirmation: Sendable

    /// The time until which the first connection is awaited; nil if there is no limit, or no wait.
    var deadline: Duration? { get }
    /// The task that waits for the first confirmation.
    var openWaiter: ReplySlot<Confirmation>? { get }
}

/// The registrations of one kind, kept across connections, by their numbers.
struct RegistrationTable<Entry: Registration> {
    private var entries: [UInt32: Entry] = [:]
    private var lastNumber: UInt32 = 0
    /// The number of entries with a deadline.
    private var deadlineCount = 0

    var isEmpty: Bool { entries.isEmpty }

    var numbers: [UInt32] { entries.keys.sorted() }

    subscript(number: UInt32) -> Entry? { entries[number] }

    mutating func add(_ entry: Entry) -> UInt32 {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || entries[lastNumber] != nil
        entries[lastNumber] = entry
        deadlineCount += entry.deadline == nil ? 0 : 1
        return lastNumber
    }

    /// Changes an entry in place, if there is one.
    mutating func update(_ number: UInt32, _ body: (inout Entry) -> Void) {
        guard var entry = remove(number) else { return }
        body(&entry)
        deadlineCount += entry.deadline == nil ? 0 : 1
        entries[number] = entry
    }

    mutating func remove(_ number: UInt32) -> Entry? {
        guard let entry = entries.removeValue(forKey: number) else { return nil }
        deadlineCount -= entry.deadline == nil ? 0 : 1
        return entry
    }

    func firstNumber(where isMatch: (Entry) -> Bool) -> UInt32? { entries.first { isMatch($0.value) }?.key }

    func number(ofOpenWaiter slot: AnyObject) -> UInt32? { firstNumber { $0.openWaiter === slot } }

    var nextDeadline: Duration? {
        deadlineCount == 0 ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// The registrations whose wait for a connection is over.
    func expired(now: Duration) -> [UInt32] {
        deadlineCount == 0 ? [] : numbers.filter { entries[$0]?.deadline.map { $0 <= now } ?? false }
    }
}

extension ClientMachine {
    /// Begins to wait for the first confirmation of a subscription, a server or an announcement.
    ///
    /// - Returns: The time until which a connection is awaited; nil if the client accepts nothing new, which the waiter
    ///   learns.
    mutating func beginOpening<Confirmation>(
        _ waiter: ReplySlot<Confirmation>?, now: Duration, _ effects: inout Effects
    ) -> Duration? {
        if let refusal {
            if let waiter { effects.answer(waiter, .failure(refusal)) }
            return nil
        }
        if let waiter, let timeout = waiter.timeout { timeouts.add(.request(waiter), until: now + timeout) }
        return now + settings.connectionWait
    }
}

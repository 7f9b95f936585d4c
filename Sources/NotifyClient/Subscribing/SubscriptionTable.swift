import NotifyWire

/// The client's subscriptions, kept across connections.
struct SubscriptionTable {
    enum Phase: Equatable {
        /// Waiting for a connection, until the deadline if the subscription was never attached, otherwise without
        /// limit.
        case waiting(deadline: Duration?)
        /// Requested, not answered yet.
        case requested
        /// Registered by the daemon, which sends messages as they are posted or committed.
        case live
        /// Being left; the daemon's confirmation is pending.
        case detaching(deadline: Duration)
    }

    struct Entry {
        let spec: SubscriptionSpec
        let buffer: DeliveryBuffer
        let ledger: AcknowledgementLedger?
        var phase: Phase
        /// The task that opened the subscription and waits for the confirmation.
        var openWaiter: ReplySlot<Subscribed?>?
        /// The tasks that wait for the end of the subscription.
        var leaveWaiters: [ReplySlot<Void>] = []
        /// The answer to `leaveWaiters` once the daemon has confirmed the detach.
        var leaveResult: Result<Void, NotifyError> = .success(())
        /// The last sequence received when the subscription was last attached; nil if its first attachment has not
        /// ended. 0 if the durable subscription was reset or edited.
        var lastSequence: UInt64?
        /// The number of messages that may still be delivered; nil without a limit or for a volatile subscription. For
        /// a subscription with handlers, the number that the daemon may deliver at present.
        var creditLeft: UInt32?
        /// The number of messages that were delivered and whose handlers have not ended.
        var heldByHandlers = 0
        /// Whether the subscription was requested on a connection.
        var wasRequested = false
        /// Whether one credit beyond the limit was granted, so that the daemon delivers the messages again whose
        /// acknowledgements did not reach it.
        var hasExtraCredit = false
        /// Whether the durable subscription has other patterns than its spec, because its patterns were edited.
        var isEdited = false
        /// Whether the durable subscription was reset or edited, and this client has not attached again yet. The
        /// subscription must not be created again then: if it was removed meanwhile, the attachment is refused.
        var wasChanged = false

        init(
            spec: SubscriptionSpec, buffer: DeliveryBuffer, ledger: AcknowledgementLedger?,
            openWaiter: ReplySlot<Subscribed?>
        ) {
            self.spec = spec
            self.buffer = buffer
            self.ledger = ledger
            self.openWaiter = openWaiter
            phase = .waiting(deadline: nil)
            creditLeft =
                spec.extendsDeadlines
                ? UInt32(clamping: spec.window)
                : spec.isDurable ? spec.limit.map { UInt32(clamping: min($0, Int(Int32.max))) } : nil
        }

        /// Counts the ended handlers of a subscription with handlers.
        ///
        /// - Returns: The credit to add, so that the daemon has credit for each free handler and each message to fetch
        ///   ahead or, after a stop, for each message that it must deliver again. 0 for subscriptions without handlers.
        mutating func topUpCredit() -> UInt32 {
            guard spec.extendsDeadlines, let ledger, let left = creditLeft else { return 0 }
            let (ended, handlers, again) = ledger.update {
                ($0.takeEndedHandlers(), $0.handlers, $0.carriedOver.count)
            }
            handlersEnded(ended)
            let ahead = handlers?.fetchesAhead == true ? SubscriptionSpec.fetchedAhead : 0
            let free = max(0, spec.window + ahead - heldByHandlers)
            let isStopping = handlers?.isStopping ?? true
            let credit = UInt32(clamping: isStopping ? again : free)
            // While the missing credit is less than half of the messages to fetch ahead, enough messages wait for a
            // handler.
            guard credit > left, isStopping || credit - left >= ahead / 2 else { return 0 }
            creditLeft = credit
            return credit - left
        }

        /// Counts messages that no longer need a handler.
        mutating func handlersEnded(_ count: Int) { heldByHandlers = max(0, heldByHandlers - count) }

        /// The credit for an attachment. Includes messages from an earlier attachment whose handlers still run, so that
        /// the daemon can deliver them to this client again.
        mutating func startCredit() -> UInt32 {
            guard spec.extendsDeadlines, let ledger else { return creditLeft ?? Subscribe.unlimitedCredit }
            _ = topUpCredit()
            let (carriedOver, isStopping) = ledger.update { ($0.carriedOver.count, $0.handlers?.isStopping ?? true) }
            let free = isStopping ? 0 : max(0, spec.window - heldByHandlers)
            let credit = UInt32(clamping: free + carriedOver)
            creditLeft = credit
            return credit
        }

        var isDetaching: Bool {
            if case .detaching = phase { true } else { false }
        }
    }

    private var entries: [UInt32: Entry] = [:]
    private var lastNumber: UInt32 = 0
    /// The number of entries with a deadline: usually 0, which makes the checks for deadlines cheap.
    private var timedCount = 0

    var numbers: [UInt32] { entries.keys.sorted() }

    subscript(number: UInt32) -> Entry? {
        entries[number]
    }

    /// Changes an entry in place.
    ///
    /// - Returns: The result of `body`; nil if there is no such entry.
    mutating func update<Result>(_ number: UInt32, _ body: (inout Entry) -> Result) -> Result? {
        guard let index = entries.index(forKey: number) else { return nil }
        timedCount -= entries.values[index].deadline == nil ? 0 : 1
        defer { timedCount += entries.values[index].deadline == nil ? 0 : 1 }
        return body(&entries.values[index])
    }

    /// Adds an entry under an unused number, and returns that number.
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

    /// The number of a subscription whose entry satisfies the predicate; nil if there is none.
    func firstNumber(where predicate: (Entry) -> Bool) -> UInt32? {
        entries.first { predicate($0.value) }?.key
    }

    /// Whether a durable subscription of this name is open and not being left.
    func hasDurable(_ name: String) -> Bool {
        entries.values.contains { $0.spec.durableName == name && !$0.isDetaching }
    }

    /// Whether the daemon's confirmation of a detach is pending.
    var isAnyDetaching: Bool { timedCount > 0 && entries.values.contains { $0.isDetaching } }

    var isEmpty: Bool { entries.isEmpty }

    /// The earliest deadline.
    var nextDeadline: Duration? {
        timedCount == 0 ? nil : entries.values.compactMap(\.deadline).min()
    }

    /// The numbers of the entries whose deadline has passed.
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

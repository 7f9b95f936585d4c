import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Values for clients, a page at a time.
extension Broker {
    /// Identifies what positions in values mean: it changes when another log replaces this one, and with the access rules,
    /// because a position has passed the changes that its user was not permitted to receive. Not 0, which stands for any.
    var valueEpoch: UInt64 { max(1, commits.epoch ^ access.policy.digest) }

    /// Makes the request wait for its page.
    ///
    /// - Throws: `limitReached` if too many requests of the connection are unanswered, and errors of the filter.
    mutating func readValues(_ read: ReadValues, _ slot: ConnectionSlot) throws(WireError) {
        try checkValueReads(slot)
        scheduler.spend(FairScheduler.Cost.trace + read.patterns.count * FairScheduler.Cost.pattern)
        var filter = try filter(patterns: read.patterns, object: "", for: connections[slot].identity)
        // An empty object selects values without an object.
        filter.object = read.object
        guard read.epoch == 0 || read.epoch == valueEpoch else { return answerReset(read.request, slot) }
        let (after, through, announcedAfter): (UInt64, UInt64, UInt64) =
            switch read.order {
            case .keys(let after, let through):
                (after, through, 0)
            case .changes(let after, let announcedAfter, _): (after, .max, announcedAfter)
            }
        try begin(
            .answer(read.order), read.request, filter, after: after, through: through,
            announcedAfter: announcedAfter, run: announcedAfter == 0 ? run : read.run,
            maximumMessages: Int(min(read.maximumMessages, Limits.messagesPerLogPage)), slot)
    }

    /// - Throws: `limitReached` if too many requests of the connection are unanswered.
    func checkValueReads(_ slot: ConnectionSlot) throws(WireError) {
        let limit = configuration.subscriptionsPerConnection
        guard connections[slot].valueReads < limit else {
            throw WireError(
                .limitReached,
                "\(limit) requests for values are unanswered on this connection, which is the limit "
                    + "(limits.per_connection.subscriptions)")
        }
    }

    private mutating func answerReset(_ request: UInt64, _ slot: ConnectionSlot) {
        answer(
            slot, ValuePage(request: request, isEnd: true, isReset: true, epoch: valueEpoch, run: run, through: 0))
    }

    /// Adds a request that waits for a page of values.
    mutating func begin(
        _ use: ValueRead.Use, _ request: UInt64, _ filter: SubscriptionFilter, after: UInt64, through: UInt64,
        announcedAfter: UInt64 = 0, run: UInt64 = 0, maximumMessages: Int, _ slot: ConnectionSlot
    ) throws(WireError) {
        let charge = try ledger.charge(ValueRead.byteCount(filter), as: .pendingBytes, to: connections[slot].uid)
        let read = ValueRead(
            connection: connections[slot].id, request: request, charge: charge, filter: filter, use: use,
            maximumMessages: maximumMessages, after: after, through: through, announcedAfter: announcedAfter, run: run,
            epoch: valueEpoch)
        connections[slot].valueReads += 1
        if case .clear = use, values.areUncertain {
            commits.append(nil, then: .clearing(read))
        } else {
            pages.values.append(read)
            actions.append(.scheduleTick)
        }
    }

    /// The maximum number of pages without values of the log in one turn.
    private static let memoryPagesPerTurn = 16

    /// Begins the next request whose connection has room, and returns the request for its page; nil if there is none.
    mutating func nextValuePage() -> PageRequest? {
        var answered = 0
        while answered < Self.memoryPagesPerTurn, var read = pages.values.next() {
            let slot = read.connection.slot
            guard hasRoom(slot) else {
                connections[slot].hasBlockedReaders = true
                pages.values.waitForRoom(read)
                continue
            }
            // Checked for each page, because an earlier batch may delete marks after the position.
            if case .answer(let order) = read.use, answerFromMemory(read, order) {
                answered += 1
                continue
            }
            let isAnswer = if case .answer = read.use { true } else { false }
            read.rights = access.policy.generation
            read.persistedThrough = commits.persistedThrough
            // The page must contain each value up to that sequence, also those whose names are newer than the request.
            if case .answer(.keys(_, let through)) = read.use { read.through = min(through, values.lastNumber) }
            pages.values.begin(read)
            var request = PageRequest(
                for: .values, filter: read.filter,
                access: isAnswer
                    ? access.readAccess(of: connections[slot].identity) : .unrestricted(access.policy),
                after: read.after, through: read.through, maximumMessages: read.maximumMessages)
            request.values = selection(of: read)
            if case .numbers(let numbers) = request.values {
                scheduler.charge(numbers.count * FairScheduler.Cost.delivery, to: connections[slot].uid)
            }
            request.omitsPayloads = !isAnswer
            return request
        }
        if !pages.values.isEmpty { actions.append(.scheduleTick) }
        return nil
    }

    /// Answers a request whose position is unknown, or whose page needs no values of the log.
    ///
    /// - Returns: Whether the request was answered.
    private mutating func answerFromMemory(_ read: ValueRead, _ order: ReadValues.Order) -> Bool {
        guard case .changes = order else { return answerAnnounced(read, order) }
        let slot = read.connection.slot
        guard read.epoch == valueEpoch, isKnown(read.after) else {
            end(read)
            answerReset(read.request, slot)
            return true
        }
        guard areAnnouncedChangesKnown(read) else {
            end(read)
            answer(
                slot,
                ValuePage(
                    request: read.request, isAnnouncedReset: true, epoch: valueEpoch, run: run, through: read.after))
            return true
        }
        return answerAnnounced(read, order)
    }

    /// Whether the changes after a sequence are known.
    private func isKnown(_ sequence: UInt64) -> Bool {
        values.areChangesKnown(after: sequence) && sequence <= commits.sequencer.last
    }

    /// The most values of names without wildcards that are looked up for a page. If there may be more, all are scanned.
    private static let maximumLookups = 1_024

    /// The values to read. For names without wildcards, the numbers are known, so that no other value is read.
    private func selection(of read: ValueRead) -> PageRequest.Values {
        if case .answer(.changes) = read.use { return .bySequence }
        guard read.filter.patterns.allSatisfy(\.isExact) else { return .byNumber }
        let (names, isAnyObject) = lookupKeys(read.filter)
        guard !isAnyObject || values.count(of: names) <= Self.maximumLookups else { return .byNumber }
        let numbers = values.numbers(of: names, isAnyObject: isAnyObject)
        return .numbers(numbers.filter { $0 > read.after && $0 <= read.through })
    }

    /// The keys that a filter without wildcards names, and whether values with any object count.
    private func lookupKeys(_ filter: SubscriptionFilter) -> (keys: [ValueKey], isAnyObject: Bool) {
        let keys = filter.patterns.map { ValueKey(name: $0.string, object: filter.object ?? "") }
        return (keys, filter.object == nil)
    }

    /// Answers a request with its page, makes it wait for the next change, or clears the values of the page.
    mutating func valuePageRead(_ page: Page, now: BrokerTime) {
        defer { actions.append(.scheduleTick) }
        guard let read = pages.values.finish() else { return }
        let slot = read.connection.slot
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            end(read)
            refuse(slot, request: read.request, failure.readError)
        case .success(let content):
            scheduler.charge(
                FairScheduler.Cost.trace + content.block.frames.readableBytes >> FairScheduler.Cost.bytesShift,
                to: connections[slot].uid)
            switch read.use {
            // The page was read under earlier rights, so it is read again.
            case .answer where read.rights != access.policy.generation: pages.values.append(read)
            case .answer(let order): answer(read, order, content)
            case .clear(let clearing): clear(content, clearing, read, now: now)
            }
        }
    }

    private mutating func answer(_ read: ValueRead, _ order: ReadValues.Order, _ content: Page.Content) {
        let slot = read.connection.slot
        var (read, block) = (read, content.block)
        var page = ValuePage(
            request: read.request, epoch: valueEpoch, run: run, through: content.scannedThrough,
            committedThrough: read.persistedThrough, damaged: UInt64(damagedCount(content, read)))
        let room = read.maximumMessages - block.entries.count
        switch order {
        case .keys(_, let through):
            page.isEnd = content.scannedThrough >= read.through
            page.announcedThrough = announcements.changes.last
            page.lastKey = read.through
            guard page.isEnd, through > ReadValues.lastStoredKey else { break }
            (read.after, read.through) = (ReadValues.lastStoredKey, through)
            let announced = announcedValues(for: read, maximum: room)
            charge(for: announced, read)
            block.append(announced.block)
            page.isEnd = announced.isEnd
            page.through = ReadValues.lastStoredKey + announced.through
            page.lastKey = min(through, lastAnnouncedKey)
        case .changes(_, _, let isWaiting):
            // Marks may have been forgotten while the page was read.
            guard areAnnouncedChangesKnown(read) else { return pages.values.append(read) }
            read.after = max(read.after, content.scannedThrough)
            let announced = announcedChanges(for: read, maximum: room)
            charge(for: announced, read)
            block.append(announced.block)
            read.announcedAfter = max(read.announcedAfter, announced.through)
            page.announcedThrough = read.announcedAfter
            page.isEnd =
                content.scannedThrough >= commits.persistedThrough
                && read.announcedAfter >= announcements.changes.last
            // An empty page that does not reach its end is answered: the client may have to read by key.
            let isComplete = content.scannedThrough >= read.persistedThrough
            if isWaiting, isComplete, block.entries.isEmpty, page.damaged == 0 {
                return page.isEnd ? pages.values.waitForCommit(read) : pages.values.append(read)
            }
        }
        end(read)
        guard !connections[slot].session.isClosing else { return }
        page.count = UInt32(block.entries.count)
        egress.append(page, block, to: slot)
    }

    /// The number of damaged values in a page that the request may select. For names without wildcards, those of other
    /// names, which a scan meets, do not count.
    private func damagedCount(_ content: Page.Content, _ read: ValueRead) -> Int {
        guard !content.damaged.isEmpty, read.filter.patterns.allSatisfy(\.isExact), case .answer(.keys) = read.use
        else { return content.damaged.count }
        let (names, isAnyObject) = lookupKeys(read.filter)
        let numbers = Set(values.numbers(of: names, isAnyObject: isAnyObject))
        return content.damaged.count { numbers.contains($0) }
    }

    /// Answers a waiting request of the connection with an empty page.
    ///
    /// - Returns: Whether there is such a request.
    mutating func endValueRead(_ ended: EndRead, _ slot: ConnectionSlot) -> Bool {
        guard let read = pages.values.end(connections[slot].id, request: ended.request) else { return false }
        end(read)
        answer(
            slot,
            ValuePage(
                request: read.request, isEnd: true, epoch: valueEpoch, run: run, through: read.after,
                announcedThrough: read.announcedAfter))
        return true
    }

    mutating func end(_ read: ValueRead) {
        connections[read.connection.slot].valueReads -= 1
        ledger.release(read.charge)
    }

    /// Drops the requests of a connection that ends.
    mutating func endValueReads(of slot: ConnectionSlot) {
        guard connections[slot].valueReads > 0 else { return }
        connections[slot].valueReads = 0
        for read in pages.values.remove(connections[slot].id) { ledger.release(read.charge) }
    }
}

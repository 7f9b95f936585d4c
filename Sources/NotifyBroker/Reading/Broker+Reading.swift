import NotifyCenter
package import NotifyLog
import NotifyWire

/// Reading the log for durable subscriptions.
extension Broker {
    // MARK: At the tail

    /// Delivers a newly committed block to the live readers. The resolution made at the time of the post selects the
    /// readers of a message. If rights or the patterns of a subscription have changed since then, the message is
    /// resolved again.
    mutating func deliverToLiveReaders(_ part: PendingLog.Part) {
        let live = pages.readers.liveReaders
        guard !live.isEmpty else { return }
        let source = egress.addSource(part.block.frames)
        var run = LiveRun(maximumBytes: configuration.durableOutboxBytes / Self.liveRunsPerOutbox)
        for (index, (entry, posted)) in zip(part.block.entries, part.resolutions).enumerated() {
            let resolution =
                subscriptions.isCurrent(posted, of: entry.sequence) ? posted : resolution(of: entry, in: part.block)
            let registrations = resolution.registrations
            let boundary = resolution.volatileCount
            guard boundary < registrations.count else { continue }
            if live.count < registrations.count - boundary {
                for id in live where resolution.reaches(durable: durables[pages.readers[id].durable].registration) {
                    if let ended = run.add(entry, at: index, for: id) { deliver(ended, of: part.block, source) }
                }
            } else {
                for registration in registrations[boundary...] {
                    guard let id = reader(of: registration) else { continue }
                    if let ended = run.add(entry, at: index, for: id) { deliver(ended, of: part.block, source) }
                }
            }
        }
        if let last = run.messages { deliver(last, of: part.block, source) }
        closeRuns()
    }

    /// The number of runs of the maximum size that fill an outbox, whose room is checked once for each run.
    private static let liveRunsPerOutbox = 16

    /// Moves the open runs into outboxes.
    mutating func closeRuns() {
        for reader in egress.readersWithRuns { messagesGiven(to: reader) }
        egress.closeRuns()
    }

    private mutating func deliver(_ run: LiveRun.Messages, of block: LogBlock, _ source: UInt32) {
        let reader = run.reader
        guard pages.readers[reader].isLive else { return }
        var rest = block.entries[run.range]
        while let next = rest.first {
            guard let member = nextMember(for: reader), takeFirst(of: &rest, in: block, for: reader, member, source)
            else {
                durables[pages.readers[reader].durable].passed(through: next.sequence - 1)
                pages.readers.fellBehind(reader, at: next.sequence - 1)
                return
            }
        }
    }

    /// Adds the first of some matching messages to the reader's run, together with the following messages that can be
    /// handled in the same way. Messages that the subscription skips are not added. Must be called in ascending order
    /// of sequences.
    ///
    /// - Parameters:
    ///   - entries: Neighbors in the block, at least one. Handled entries are removed.
    ///   - member: The member whose turn it is. If this member may not receive the first message, another one may get
    ///     it.
    /// - Returns: False if the subscription accepts no message now.
    @inline(__always)
    private mutating func takeFirst(
        of entries: inout ArraySlice<LogBlock.Entry>, in block: LogBlock, for reader: ReaderID, _ member: Int,
        _ source: UInt32, ignoresOutbox: Bool = false
    ) -> Bool {
        if haveMembersEqualRights(reader) {
            give(entries, of: &entries, to: reader, member, source)
            return true
        }
        switch recipient(of: entries, in: block, for: reader, member, ignoresOutbox: ignoresOutbox) {
        case .member(let member, let count):
            give(entries.prefix(count), of: &entries, to: reader, member, source)
        case .forbidden:
            if let first = entries.popFirst() { pass(reader, through: first.sequence) }
        case .withheld(let rights):
            guard let first = entries.first, withhold(first, rights, for: reader, member) else { return false }
            entries.removeFirst()
            pages.readers[reader].passed(through: first.sequence)
        }
        return true
    }

    /// Gives a member the first of some messages, together with the following messages that can be handled in the same
    /// way.
    @inline(__always)
    private mutating func give(
        _ first: ArraySlice<LogBlock.Entry>, of entries: inout ArraySlice<LogBlock.Entry>, to reader: ReaderID,
        _ member: Int, _ source: UInt32
    ) {
        let (count, destination) = take(first, for: reader, member)
        let taken = entries.prefix(count)
        entries = entries.dropFirst(count)
        pages.readers[reader].passed(through: taken[taken.endIndex - 1].sequence)
        guard let destination else { return }
        egress.extendRun(of: reader, with: OpenRun.Frames(taken), in: source, to: destination)
    }

    // MARK: Behind the tail

    /// Lets every ready reader continue, from the tail ring or by requesting a page.
    mutating func continueReaders(now: BrokerTime) {
        let ready = pages.readers.takeReady()
        var budget = RingBudget(
            readers: ready.count, isBusy: scheduler.hasQueuedConnections, work: subscriptions.work)
        for (index, reader) in ready.enumerated() {
            guard budget.beginReader(work: subscriptions.work) else {
                pages.readers.postpone(ready[index...])
                actions.append(.scheduleTick)
                break
            }
            continueReading(reader, within: &budget)
        }
        requestPage(now: now)
        closeRuns()
    }

    private mutating func continueReading(_ reader: ReaderID, within budget: inout RingBudget) {
        guard nextMember(for: reader) != nil else { return }
        switch pages.readers.source(for: reader, persistedThrough: commits.persistedThrough) {
        case .end: becomeLive(reader)
        case .ring: readRing(reader, within: &budget)
        case .page: pages.readers.queueForPage(reader)
        }
    }

    /// Whether the connection's outbox has room for more stored messages.
    @inline(__always)
    func hasRoom(_ slot: ConnectionSlot) -> Bool {
        let waiting = egress[slot].runBytes
        return waiting < configuration.durableOutboxBytes
            && (waiting == 0 || !ledger.isUnderMemoryPressure(connections[slot].uid))
    }

    private mutating func becomeLive(_ reader: ReaderID) {
        durables[pages.readers[reader].durable].passed(through: commits.persistedThrough)
        pages.readers.caughtUp(reader, through: commits.persistedThrough)
    }

    private mutating func readRing(_ reader: ReaderID, within budget: inout RingBudget) {
        var (bytesLeft, room) = (configuration.durableOutboxBytes, room(for: reader))
        let registration = durables[pages.readers[reader].durable].registration
        for (block, first) in pages.readers.ring.blocks(after: pages.readers[reader].position) {
            let source = egress.addSource(block.frames)
            // Matching messages from this index to the current one are taken together.
            var start = first
            for (index, entry) in zip(first..., block.entries[first...]) {
                guard bytesLeft > 0, room > 0, budget.takeEntry(work: subscriptions.work) else {
                    guard take(block.entries[start..<index], in: block, for: reader, source) else { return }
                    pages.readers.wake(reader)
                    actions.append(.scheduleTick)
                    return
                }
                if resolution(of: entry, in: block).reaches(durable: registration) {
                    bytesLeft -= Int(entry.length)
                    room -= 1
                } else {
                    guard take(block.entries[start..<index], in: block, for: reader, source) else { return }
                    start = index + 1
                    pass(reader, through: entry.sequence)
                }
            }
            guard take(block.entries[start...], in: block, for: reader, source) else { return }
        }
        becomeLive(reader)
    }

    /// Gives matching messages from the ring to the members of the subscription that have room.
    ///
    /// - Parameter entries: Neighbors in the block.
    /// - Returns: False if the subscription accepts no further message now.
    private mutating func take(
        _ entries: ArraySlice<LogBlock.Entry>, in block: LogBlock, for reader: ReaderID, _ source: UInt32
    ) -> Bool {
        var rest = entries
        while !rest.isEmpty {
            guard let member = nextMemberWhileReading(for: reader),
                takeFirst(of: &rest, in: block, for: reader, member, source)
            else { return false }
        }
        return true
    }

    private mutating func pass(_ reader: ReaderID, through sequence: UInt64) {
        pages.readers[reader].passed(through: sequence)
        durables[pages.readers[reader].durable].passed(through: sequence)
    }

    private mutating func resolution(of entry: LogBlock.Entry, in block: LogBlock) -> Resolution {
        block.withMessage(entry) { resolve($0.parts) }
    }

    // MARK: Pages

    /// Requests the next page, if none is being read.
    private mutating func requestPage(now: BrokerTime) {
        guard pages.started == nil, mayNeedPage else { return }
        var purpose = pages.turn
        repeat {
            if let request = nextPage(for: purpose, now: now) {
                pages.began(purpose, now: now.monotonic)
                return actions.append(.readPage(request))
            }
            purpose = purpose.next
        } while purpose != pages.turn
    }

    /// Whether a request may need a page. Requests that wait for room in an outbox do not count.
    @inline(__always)
    private var mayNeedPage: Bool {
        pages.readers.hasQueuedPages || !pages.histories.isEmpty || !pages.values.isEmpty || !pages.traces.isEmpty
            || storeRequests.isWorking(on: .deadLetters)
    }

    private mutating func nextPage(for purpose: PageRequest.Purpose, now: BrokerTime) -> PageRequest? {
        switch purpose {
        case .subscription: nextSubscriptionPage()
        case .history: nextHistoryPage()
        case .values: nextValuePage()
        case .trace: nextTracePage()
        case .deadLetters: nextDeadLettersPage()
        }
    }

    private mutating func nextSubscriptionPage() -> PageRequest? {
        while let reader = pages.readers.nextForPage() {
            guard nextMember(for: reader) != nil else { continue }
            pages.readers.pageRequested(reader, rights: access.policy.generation)
            let slot = pages.readers[reader].durable
            return PageRequest(
                for: .subscription, subscription: durables[slot].id, filter: durables[slot].filter,
                access: access.readAccess(of: durables[slot].identities.inOrder), after: pages.readers[reader].position,
                maximumMessages: durables[slot].room)
        }
        return nil
    }

    /// Must be called when the store has read a page.
    package mutating func pageRead(_ page: Page, now: BrokerTime) {
        statistics.store = page.statistics
        durables.setTime(now)
        pages.ended()
        switch page.purpose {
        case .subscription: subscriptionPageRead(page, now: now)
        case .history: historyPageRead(page, now: now)
        case .values: valuePageRead(page, now: now)
        case .trace: tracedMessageRead(page, now: now)
        case .deadLetters: deadLettersRead(page, now: now)
        }
    }

    private mutating func subscriptionPageRead(_ page: Page, now: BrokerTime) {
        guard let reader = pages.readers.pageArrived(rights: access.policy.generation) else { return }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            pages.readers.pageFailed(reader)
        case .success(let content):
            if !content.block.entries.isEmpty {
                let source = egress.addSource(content.block.frames)
                var rest = content.block.entries[...]
                while let next = rest.first {
                    // A member may have ended since the page was requested.
                    guard let member = nextMember(for: reader, ignoresOutbox: true),
                        takeFirst(of: &rest, in: content.block, for: reader, member, source, ignoresOutbox: true)
                    else {
                        closeRuns()
                        reportDamage(content.damaged.filter { $0 < next.sequence }, to: reader)
                        return pass(reader, through: next.sequence - 1)
                    }
                }
                closeRuns()
            }
            if !content.damaged.isEmpty { reportDamage(content.damaged, to: reader) }
            pass(reader, through: content.scannedThrough)
            if pages.readers[reader].position == commits.persistedThrough {
                becomeLive(reader)
            } else {
                pages.readers.wake(reader)
            }
        }
    }
}

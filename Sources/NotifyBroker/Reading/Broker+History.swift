import NIOCore
import NotifyLog
import NotifyWire

/// Stored messages for clients that request them without a subscription, a page at a time.
extension Broker {
    /// Makes the request wait for its page.
    ///
    /// - Throws: `limitReached` if too many requests of the connection are unanswered, and errors of the filter.
    mutating func readLog(_ read: ReadLog, _ slot: ConnectionSlot) throws(WireError) {
        guard connections[slot].historyReads < Limits.logReadsPerConnection else {
            throw WireError(
                .limitReached,
                "\(Limits.logReadsPerConnection) requests to read the log are unanswered on this connection, "
                    + "which is the limit")
        }
        scheduler.spend(FairScheduler.Cost.trace + read.patterns.count * FairScheduler.Cost.pattern)
        let filter = try filter(patterns: read.patterns, object: read.object, for: connections[slot].identity)
        let charge = try ledger.charge(HistoryRead.byteCount(filter), as: .pendingBytes, to: connections[slot].uid)
        let history = HistoryRead(
            connection: connections[slot].id, request: read.request, charge: charge, filter: filter,
            after: read.first - 1,
            last: read.awaitsPending ? min(read.last, commits.sequencer.last) : read.last,
            maximumMessages: Int(min(read.maximumMessages, Limits.messagesPerLogPage)),
            isDescending: read.isDescending, wait: read.awaitsPending ? .pending : read.isWaiting ? .message : .none,
            deletionMark: read.deletionMark)
        connections[slot].historyReads += 1
        pages.histories.append(history)
        actions.append(.scheduleTick)
    }

    /// Begins the next history request whose connection has room, and returns the request for its page; nil if there is
    /// none.
    mutating func nextHistoryPage() -> PageRequest? {
        while var read = pages.histories.next() {
            let slot = read.connection.slot
            guard hasRoom(slot) else {
                connections[slot].hasBlockedReaders = true
                pages.histories.waitForRoom(read)
                continue
            }
            read.rights = access.policy.generation
            read.settledThrough = commits.settledThrough
            read.persistedThrough = commits.persistedThrough
            pages.histories.begin(read)
            return PageRequest(
                for: .history, filter: read.filter, access: access.readAccess(of: connections[slot].identity),
                after: read.after, through: read.last, maximumMessages: read.maximumMessages,
                isDescending: read.isDescending, deletionMark: read.deletionMark)
        }
        return nil
    }

    /// Answers a history request with its page, or makes it wait for the next commit.
    mutating func historyPageRead(_ page: Page, now: BrokerTime) {
        guard var read = pages.histories.finish() else { return actions.append(.scheduleTick) }
        defer { actions.append(.scheduleTick) }
        let slot = read.connection.slot
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            end(read)
            refuse(slot, request: read.request, failure.readError)
        // The page was read under earlier rights, so it is read again.
        case .success where read.rights != access.policy.generation:
            pages.histories.append(read)
        case .success(let content):
            scheduler.charge(
                FairScheduler.Cost.trace + content.block.frames.readableBytes >> FairScheduler.Cost.bytesShift,
                to: connections[slot].uid)
            if read.deletionMark == 0 { read.deletionMark = content.deletionMark }
            if read.isDescending {
                end(read)
                return send(
                    content, of: read, through: content.scannedThrough, isEnd: content.scannedThrough <= read.after + 1)
            }
            var through = max(read.after, content.scannedThrough)
            if through >= read.persistedThrough { through = max(through, min(read.settledThrough, read.last)) }
            let isAtEnd = through >= min(read.last, commits.persistedThrough)
            let isEmpty = content.block.entries.isEmpty && content.damaged.isEmpty && content.deleted == nil
            read.after = through
            if read.wait != .none, isEmpty, isAtEnd, through < read.last {
                // The commit for which the request would wait may already have failed.
                let isSettled = read.wait == .pending && commits.settledThrough > through
                return isSettled ? pages.histories.append(read) : pages.histories.waitForCommit(read)
            }
            end(read)
            send(content, of: read, through: through, isEnd: read.wait == .pending ? through >= read.last : isAtEnd)
        }
    }

    private mutating func send(_ content: Page.Content, of read: HistoryRead, through: UInt64, isEnd: Bool) {
        let slot = read.connection.slot
        guard !connections[slot].session.isClosing else { return }
        var page = LogPage(
            request: read.request, count: UInt32(content.block.entries.count), isEnd: isEnd, through: through,
            deletionMark: read.deletionMark)
        if let deleted = content.deleted {
            page.deleted = .init(
                messages: deleted.count, isUpperBound: deleted.isUpperBound,
                range: SequenceRange(first: deleted.first, last: deleted.last))
        }
        if let first = content.damaged.first, let last = content.damaged.last {
            noteDamage(content.damaged)
            page.damaged = UInt64(content.damaged.count)
            page.damagedRange = SequenceRange(first: min(first, last), last: max(first, last))
        }
        egress.append(page, content.block, to: slot)
    }

    /// Answers a waiting request of the connection with an empty page.
    mutating func endRead(_ ended: EndRead, _ slot: ConnectionSlot) {
        if endValueRead(ended, slot) { return }
        guard let read = pages.histories.end(connections[slot].id, request: ended.request) else { return }
        end(read)
        answer(
            slot,
            LogPage(
                request: read.request, count: 0, isEnd: true, through: read.after, deletionMark: read.deletionMark))
    }

    private mutating func end(_ read: HistoryRead) {
        connections[read.connection.slot].historyReads -= 1
        ledger.release(read.charge)
    }

    /// Drops the requests of a connection that ends.
    mutating func endPageRequests(of slot: ConnectionSlot) {
        if connections[slot].pauses.contains(.awaitingPage) { _ = pages.traces.remove(connections[slot].id) }
        endValueReads(of: slot)
        guard connections[slot].historyReads > 0 else { return }
        connections[slot].historyReads = 0
        for read in pages.histories.remove(connections[slot].id) { ledger.release(read.charge) }
    }

    // MARK: Positions

    /// Answers with the sequence at which a position begins. If the position is a time, the store first searches for
    /// the sequence.
    mutating func find(_ find: Find, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        if let time = try find.position.pastTime(at: now) {
            try search(.find, at: time, request: find.request, slot)
        } else {
            try answerFound(first: firstCursor(at: find.position) + 1, request: find.request, slot)
        }
    }

    mutating func answerFound(first: UInt64, request: UInt64, _ slot: ConnectionSlot) {
        answer(slot, Found(request: request, sequence: first, last: commits.persistedThrough))
    }
}

extension StorageFailure {
    /// The error of a request that only reads.
    var readError: WireError { WireError(.storageFailed, "the log can't be read: \(message)") }
}

import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

/// Announced values in the pages for clients. They are in memory, so they need no page of the log.
extension Broker {
    /// The maximum number of values that are visited for a page, and of the bytes of a page.
    private static let visitedPerPage = 1_024
    private static let bytesPerPage = 256 << 10
    /// The number of patterns whose comparison counts as a further visit.
    private static let patternsPerVisit = 8

    /// Announced values, or changes of them.
    struct AnnouncedPage {
        var block = LogBlock()
        /// The number or sequence up to which all were visited.
        var through: UInt64
        /// Whether there are no more.
        var isEnd = false
        /// The number of values that were visited.
        var visited = 0
    }

    /// Identifies this run of the daemon.
    var run: UInt64 { max(1, daemon.instance.high ^ daemon.instance.low) }

    /// Answers a request whose page needs no values of the log.
    ///
    /// - Returns: Whether the request was answered, or waits for another turn.
    mutating func answerAnnounced(_ read: ValueRead, _ order: ReadValues.Order) -> Bool {
        var read = read
        let page: AnnouncedPage
        switch order {
        case .keys:
            guard read.after >= ReadValues.lastStoredKey else { return false }
            page = announcedValues(for: read, maximum: read.maximumMessages)
        case .changes(_, _, let isWaiting):
            // Stored changes first, in the same page, so that many changes of announced values can't hold them up.
            guard values.lastChange <= read.after else { return false }
            page = announcedChanges(for: read, maximum: read.maximumMessages)
            read.announcedAfter = page.through
            read.after = max(read.after, commits.persistedThrough)
            guard !page.block.entries.isEmpty || !isWaiting else {
                charge(for: page, read)
                if page.isEnd { pages.values.waitForCommit(read) } else { pages.values.append(read) }
                return true
            }
        }
        let slot = read.connection.slot
        charge(for: page, read)
        end(read)
        guard !connections[slot].session.isClosing else { return true }
        var answer = ValuePage(
            request: read.request, count: UInt32(page.block.entries.count), epoch: valueEpoch, run: run,
            through: read.after, announcedThrough: read.announcedAfter, committedThrough: commits.persistedThrough)
        answer.isEnd = page.isEnd
        if case .keys = order {
            answer.announcedThrough = announcements.changes.last
            answer.through = ReadValues.lastStoredKey + page.through
            answer.lastKey = min(read.through, lastAnnouncedKey)
        }
        egress.append(answer, page.block, to: slot)
        return true
    }

    /// Charges the work of a page to the user that gets it.
    mutating func charge(for page: AnnouncedPage, _ read: ValueRead) {
        let bytes = page.block.frames.readableBytes >> FairScheduler.Cost.bytesShift
        scheduler.charge(
            FairScheduler.Cost.search + page.visited * FairScheduler.Cost.listVisit + bytes,
            to: connections[read.connection.slot].uid)
    }

    /// The highest key of an announced value, or the last key of a stored one if there is none.
    var lastAnnouncedKey: UInt64 { ReadValues.lastStoredKey + announcements.numbers.last }

    /// Whether the changes of announced values after the position of a request are known.
    func areAnnouncedChangesKnown(_ read: ValueRead) -> Bool {
        read.run == run && read.announcedAfter >= announcements.forgottenThrough
    }

    // MARK: Values

    /// The announced values after the position of a request, which counts as their beginning if it is among the stored
    /// values.
    func announcedValues(for read: ValueRead, maximum: Int) -> AnnouncedPage {
        let after = read.after.distance(above: ReadValues.lastStoredKey)
        let last = min(announcements.numbers.last, read.through.distance(above: ReadValues.lastStoredKey))
        var pairs = announcements.numbers.after(after)
        if let keys = exactKeys(read.filter) {
            let known = keys.compactMap { key in announcements[key].map { (number: $0.number, key: key) } }
            pairs = known.filter { $0.number > after }.sorted { $0.number < $1.number }[...]
        }
        return page(pairs, through: last, for: read, maximum: maximum) { number, key in
            guard let held = announcements[key], held.number == number else { return .obsolete }
            return .message(held.message)
        }
    }

    /// The keys of the values, if the filter names each of them; nil if it has wildcards, or values with any object.
    private func exactKeys(_ filter: SubscriptionFilter) -> [ValueKey]? {
        guard let object = filter.object, filter.patterns.allSatisfy(\.isExact) else { return nil }
        return Set(filter.patterns.map(\.string)).map { ValueKey(name: $0, object: object) }
    }

    // MARK: Changes

    func announcedChanges(for read: ValueRead, maximum: Int) -> AnnouncedPage {
        page(
            announcements.changes.after(read.announcedAfter), through: announcements.changes.last, for: read,
            maximum: maximum
        ) { sequence, key in
            let stored = values.committedSequence(key)
            // The client reads changes of the stored value first, so that it never sees an older state.
            let isBehindLog = stored > read.after && stored < sequence
            if let held = announcements[key], held.sequence == sequence {
                return isBehindLog ? .later : .message(held.message)
            }
            guard let mark = announcements.mark(key), mark.sequence == sequence, stored < sequence else {
                return .obsolete
            }
            return isBehindLog ? .later : .message(mark.message)
        }
    }

    private enum Visit {
        case message(LogBlock)
        case obsolete
        /// The message must wait, and so must all after it.
        case later
    }

    private func page(
        _ pairs: ArraySlice<(number: UInt64, key: ValueKey)>, through: UInt64, for read: ValueRead, maximum: Int,
        _ visit: (UInt64, ValueKey) -> Visit
    ) -> AnnouncedPage {
        let identity = connections[read.connection.slot].identity
        var page = AnnouncedPage(through: through)
        var previous = pairs.first.map { $0.number - 1 } ?? 0
        for pair in pairs {
            guard pair.number <= through else { break }
            let isFull = page.block.entries.count >= maximum || page.block.frames.readableBytes >= Self.bytesPerPage
            guard page.visited < Self.visitedPerPage, !isFull else {
                page.through = previous
                return page
            }
            page.visited += 1 + read.filter.patterns.count / Self.patternsPerVisit
            switch visit(pair.number, pair.key) {
            case .obsolete: break
            case .message(let message):
                let isSelected = message.withFirst {
                    read.filter.matches($0.parts) && access.permits(access.receivingRules(of: $0.parts), identity)
                }
                if isSelected { page.block.append(message) }
            case .later:
                page.through = previous
                page.isEnd = true
                return page
            }
            previous = pair.number
        }
        page.isEnd = true
        return page
    }

    // MARK: Waiting

    /// Records a message that has changed a value. The requests that wait for it read their page in the next tick.
    mutating func noteChange(_ message: LogBlock) {
        guard pages.values.atEndCount > 0 else { return }
        announcements.noteChange(message)
        actions.append(.scheduleTick)
    }

    /// Lets the waiting requests that select a changed value read their page.
    mutating func wakeValueReadsForAnnouncements() {
        let changed = announcements.takeChanges()
        guard let last = changed.last?.entries.last?.sequence else { return }
        wakeValueReads(
            changed, isSelected: { message, filter in message.withFirst { filter.matches($0.parts) } },
            passing: { $0.announcedAfter = max($0.announcedAfter, last) })
    }
}

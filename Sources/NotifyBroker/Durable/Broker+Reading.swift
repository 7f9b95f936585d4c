import NIOCore
import NotifyCenter
package import NotifyLog
package import NotifyWire

/// Deliver frames of one durable reader that lie back to back in one source.
struct OpenRun {
    var source: UInt32
    var start: Int
    var end: Int
    var count: UInt32
    var isRedelivery: Bool
}

extension Broker {
    /// Entries of the ring that are looked at in one tick: for all readers together, and for each at least and at most.
    private static var ringEntriesPerTick: Int { 65_536 }
    private static var ringEntriesPerReader: ClosedRange<Int> { 16...4096 }

    // MARK: At the tail

    /// Hands the messages of a block that was just committed to the live readers they reached when they were posted.
    mutating func handToLiveReaders(_ part: PendingLog.Part) {
        guard !liveReaders.isEmpty else { return }
        let live = liveReaders.sorted()
        let source = addSource(part.block.frames)
        for (entry, resolution) in zip(part.block.entries, part.resolutions) {
            let registrations = resolution.registrations
            let boundary = registrations.partitioningIndex { $0.slot < 0 }
            guard boundary < registrations.count else { continue }
            if live.count < registrations.count - boundary {
                for index in live where resolution.reaches(readers[index].registration) {
                    handOver(entry, of: part.block, to: index, source)
                }
            } else {
                for registration in registrations[boundary...] {
                    let index = ~Int(registration.slot)
                    guard readers[index].registration == registration.id else { continue }
                    handOver(entry, of: part.block, to: index, source)
                }
            }
        }
        closeRuns()
    }

    private mutating func handOver(_ entry: LogBlock.Entry, of block: LogBlock, to index: Int, _ source: UInt32) {
        guard readers[index].isLive, let attachment = readers[index].attachment else { return }
        guard block.mayReach(uid: readers[index].filter.uid, entry) else { return }
        guard readers[index].room > 0, hasRoom(Int(attachment.connection.slot)) else {
            readers[index].fellBehind(at: entry.sequence - 1)
            liveReaders.remove(index)
            readersToRead.insert(index)
            return
        }
        if readers[index].take(entry.sequence) { extendRun(of: index, with: entry, source) }
    }

    // MARK: Behind the tail

    /// Lets every reader that may have something to read go on, from the ring or by asking for a page.
    mutating func readOn(now: Moment) {
        let indices = readersToRead.sorted()
        readersToRead = []
        let share = Self.ringEntriesPerTick / max(1, indices.count)
        let range = Self.ringEntriesPerReader
        for index in indices where readers[index].canRead {
            readOn(index, ringEntries: min(max(share, range.lowerBound), range.upperBound))
        }
        requestPage(now: now)
        closeRuns()
    }

    private mutating func readOn(_ index: Int, ringEntries: Int) {
        guard let attachment = readers[index].attachment else { return }
        let slot = Int(attachment.connection.slot)
        guard hasRoom(slot) else {
            connections[slot].hasHeldReaders = true
            return
        }
        let position = readers[index].position
        if position >= persistedThrough {
            becomeLive(index)
        } else if position >= ring.floor {
            readRing(index, entries: ringEntries)
        } else {
            pageQueue.append(index)
        }
    }

    private mutating func requestPage(now: Moment) {
        while pageQueue.started == nil, let index = pageQueue.popFirst() {
            let position = readers[index].position
            // It may have been left meanwhile, or its place be another's.
            guard readers[index].canRead, position < ring.floor, let attachment = readers[index].attachment else {
                continue
            }
            let slot = Int(attachment.connection.slot)
            guard hasRoom(slot) else {
                connections[slot].hasHeldReaders = true
                continue
            }
            readers[index].pageRequested()
            pageQueue.started = now.monotonic
            actions.append(
                .readPage(
                    PageRequest(
                        subscription: readers[index].id, generation: readers[index].pageGeneration,
                        filter: readers[index].filter, after: position, maximumMessages: readers[index].room)))
        }
    }

    private func hasRoom(_ slot: Int) -> Bool {
        outboxes[slot].keptBytes < configuration.durableOutboxBytes
    }

    private mutating func becomeLive(_ index: Int) {
        readers[index].passed(through: persistedThrough)
        readers[index].caughtUp()
        liveReaders.insert(index)
    }

    private mutating func readRing(_ index: Int, entries: Int) {
        var entriesLeft = entries
        var bytesLeft = configuration.durableOutboxBytes
        let registration = readers[index].registration
        let uid = readers[index].filter.uid
        for (block, first) in ring.blocks(after: readers[index].position) {
            let source = addSource(block.frames)
            for entry in block.entries[first...] {
                guard entriesLeft > 0, bytesLeft > 0, readers[index].room > 0 else {
                    readersToRead.insert(index)
                    actions.append(.continueSoon)
                    return
                }
                entriesLeft -= 1
                guard block.mayReach(uid: uid, entry), resolution(of: entry, in: block).reaches(registration) else {
                    readers[index].passed(through: entry.sequence)
                    continue
                }
                if readers[index].take(entry.sequence) {
                    bytesLeft -= Int(entry.length)
                    extendRun(of: index, with: entry, source)
                }
            }
        }
        becomeLive(index)
    }

    private mutating func resolution(of entry: LogBlock.Entry, in block: LogBlock) -> Resolution {
        block.withMessage(entry) { message in
            let object = message.parts.object
            return center.resolve(name: message.parts.name, object: object.isEmpty ? nil : object)
        }
    }

    /// The store read a page.
    package mutating func pageRead(_ page: Page, now: Moment) {
        statistics.store = page.statistics
        pageQueue.started = nil
        guard let index = readersByID[page.subscription], readers[index].pageArrived(generation: page.generation)
        else { return }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            readersToRetry.insert(index)
        case .success(let content):
            if !content.block.entries.isEmpty {
                let source = addSource(content.block.frames)
                for entry in content.block.entries where readers[index].take(entry.sequence) {
                    extendRun(of: index, with: entry, source)
                }
                closeRuns()
            }
            readers[index].passed(through: content.scannedThrough)
            if readers[index].position == persistedThrough { becomeLive(index) } else { readersToRead.insert(index) }
        }
    }

    // MARK: Runs

    private mutating func addSource(_ buffer: ByteBuffer) -> UInt32 {
        sources.append(buffer)
        return Span.firstComplete + UInt32(sources.count - 1)
    }

    private mutating func extendRun(of index: Int, with entry: LogBlock.Entry, _ source: UInt32) {
        let isRedelivery = readers[index].isRedelivery(entry.sequence)
        let start = Int(entry.offset)
        if let run = openRuns[index] {
            if run.source == source, run.end == start, run.isRedelivery == isRedelivery {
                openRuns[index]?.end += Int(entry.length)
                openRuns[index]?.count += 1
                return
            }
            closeRun(of: index, run)
        } else {
            readersWithRuns.append(index)
        }
        openRuns[index] = OpenRun(
            source: source, start: start, end: start + Int(entry.length), count: 1, isRedelivery: isRedelivery)
    }

    private mutating func closeRuns() {
        for index in readersWithRuns {
            if let run = openRuns[index] { closeRun(of: index, run) }
            openRuns[index] = nil
        }
        readersWithRuns.removeAll(keepingCapacity: true)
    }

    private mutating func closeRun(of index: Int, _ run: OpenRun) {
        guard let attachment = readers[index].attachment else { return }
        let slot = Int(attachment.connection.slot)
        let header = Run(subscription: attachment.number, count: run.count, isRedelivery: run.isRedelivery)
        outboxes[slot].appendDurable(header, source: run.source, start: run.start, end: run.end)
        if run.isRedelivery { statistics.redelivered += UInt64(run.count) }
        touch(slot)
    }

    // MARK: Acknowledging

    mutating func acknowledge(_ acknowledge: Acknowledge, _ slot: Int, now: Moment) throws(WireError) {
        let index = try reader(acknowledge.subscription, of: slot)
        do throws(WireError) {
            if readers[index].isLive { readers[index].passed(through: persistedThrough) }
            try readers[index].acknowledged(acknowledge.ranges)
        } catch {
            refuse(slot, request: 0, error, subscription: acknowledge.subscription)
            return
        }
        markDirty(index)
        let deadline = now.monotonic + configuration.acknowledgementDelay
        commitDeadline = min(commitDeadline ?? deadline, deadline)
        readersToRead.insert(index)
    }

    mutating func addCredit(_ credit: Credit, _ slot: Int) throws(WireError) {
        let index = try reader(credit.subscription, of: slot)
        readers[index].creditAdded(credit.messages)
        readersToRead.insert(index)
    }

    private func reader(_ number: UInt32, of slot: Int) throws(WireError) -> Int {
        guard case .durable(let index)? = connections[slot].subscriptions[number] else {
            throw WireError(
                .unknownSubscription, "this connection has no durable subscription \(number)")
        }
        return index
    }
}

extension Resolution {
    /// Whether a durable registration is among those reached. They follow the volatile ones, by id.
    fileprivate func reaches(_ registration: UInt64) -> Bool {
        let index = registrations.partitioningIndex { $0.slot < 0 && $0.id >= registration }
        return index < registrations.count && registrations[index].id == registration
    }
}

extension LogBlock {
    /// Whether a message may reach a subscription of `uid`, by its name.
    fileprivate func mayReach(uid: UInt32, _ entry: Entry) -> Bool {
        withMessage(entry) { NameRights.mayReceive($0.parts.name, uid: uid) }
    }
}

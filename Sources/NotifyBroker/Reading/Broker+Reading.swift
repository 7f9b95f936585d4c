import NotifyCenter
package import NotifyLog
import NotifyWire

/// Stored messages on their way to durable subscriptions.
extension Broker {
    // MARK: At the tail

    /// Hands the messages of a block that was just committed to the live readers that they reached when they were posted.
    mutating func handToLiveReaders(_ part: PendingLog.Part) {
        guard readers.liveCount > 0 else { return }
        let live = readers.liveReaders
        let source = egress.addSource(part.block.frames)
        for (entry, posted) in zip(part.block.entries, part.resolutions) {
            let resolution = subscriptions.isCurrent(posted) ? posted : resolution(of: entry, in: part.block)
            let registrations = resolution.registrations
            let boundary = resolution.volatileCount
            guard boundary < registrations.count else { continue }
            if live.count < registrations.count - boundary {
                for reader in live {
                    guard case .durable(let slot) = readers[reader].consumer else { continue }
                    guard resolution.reaches(durable: durables[slot].registration) else { continue }
                    handOver(entry, to: reader, slot, source)
                }
            } else {
                for registration in registrations[boundary...] {
                    let slot = registration.durable
                    guard durables.isCurrent(registration.id, at: slot), let reader = durables[slot].reader else {
                        continue
                    }
                    handOver(entry, to: reader, slot, source)
                }
            }
        }
        egress.closeRuns()
    }

    private mutating func handOver(
        _ entry: LogBlock.Entry, to reader: ReaderID, _ slot: DurableSlot, _ source: UInt32
    ) {
        guard readers[reader].isLive, let connection = durables[slot].member?.attachment.connection.slot else { return }
        guard durables[slot].room > 0, hasRoom(connection) else {
            durables[slot].passed(through: entry.sequence - 1)
            readers.fellBehind(reader, at: entry.sequence - 1)
            return
        }
        take(entry, for: reader, slot, source)
    }

    /// Puts a matching message above all others into the reader's run, unless it was acknowledged earlier.
    private mutating func take(_ entry: LogBlock.Entry, for reader: ReaderID, _ slot: DurableSlot, _ source: UInt32) {
        readers[reader].passed(through: entry.sequence)
        guard durables[slot].take(entry.sequence), let attachment = durables[slot].member?.attachment else { return }
        egress.extendRun(
            of: reader, with: entry, in: source,
            to: OpenRun.Destination(
                connection: attachment.connection.slot, subscription: attachment.number,
                isRedelivery: durables[slot].cursor.isRedelivery(entry.sequence)))
    }

    // MARK: Behind the tail

    /// Lets every reader that may have something to read go on, from the ring or by requesting a page.
    mutating func readOn(now: BrokerTime) {
        let (ready, ringEntries) = readers.takeReady()
        for reader in ready {
            readOn(reader, ringEntries: ringEntries)
        }
        requestPage(now: now)
        egress.closeRuns()
    }

    private mutating func readOn(_ reader: ReaderID, ringEntries: Int) {
        guard case .durable(let slot) = readers[reader].consumer, durables[slot].room > 0, holdIfFull(slot) else {
            return
        }
        switch readers.source(for: reader, persistedThrough: commits.persistedThrough) {
        case .end: becomeLive(reader, slot)
        case .ring: readRing(reader, slot, entries: ringEntries)
        case .page: readers.queueForPage(reader)
        }
    }

    /// Returns whether the subscriber's connection has room. Where it has none, its readers wait until it has.
    private mutating func holdIfFull(_ slot: DurableSlot) -> Bool {
        guard let connection = durables[slot].member?.attachment.connection.slot else { return false }
        if hasRoom(connection) { return true }
        connections[connection].hasHeldReaders = true
        return false
    }

    /// Whether the connection's outbox takes more durable messages.
    func hasRoom(_ slot: ConnectionSlot) -> Bool {
        egress[slot].keptBytes < configuration.durableOutboxBytes
    }

    /// The connection's outbox has room again.
    mutating func wakeReaders(of slot: ConnectionSlot) {
        for case .durable(let durable) in connections[slot].subscriptions.values {
            if let reader = durables[durable].reader { readers.wake(reader) }
        }
    }

    private mutating func becomeLive(_ reader: ReaderID, _ slot: DurableSlot) {
        durables[slot].passed(through: commits.persistedThrough)
        readers.caughtUp(reader, through: commits.persistedThrough)
    }

    private mutating func readRing(_ reader: ReaderID, _ slot: DurableSlot, entries: Int) {
        var entriesLeft = entries
        var bytesLeft = configuration.durableOutboxBytes
        let registration = durables[slot].registration
        for (block, first) in readers.ring.blocks(after: readers[reader].position) {
            let source = egress.addSource(block.frames)
            for entry in block.entries[first...] {
                guard entriesLeft > 0, bytesLeft > 0, durables[slot].room > 0 else {
                    readers.wake(reader)
                    actions.append(.continueSoon)
                    return
                }
                entriesLeft -= 1
                if resolution(of: entry, in: block).reaches(durable: registration) {
                    bytesLeft -= Int(entry.length)
                    take(entry, for: reader, slot, source)
                } else {
                    pass(reader, slot, through: entry.sequence)
                }
            }
        }
        becomeLive(reader, slot)
    }

    private mutating func pass(_ reader: ReaderID, _ slot: DurableSlot, through sequence: UInt64) {
        readers[reader].passed(through: sequence)
        durables[slot].passed(through: sequence)
    }

    private mutating func resolution(of entry: LogBlock.Entry, in block: LogBlock) -> Resolution {
        block.withMessage(entry) { message in
            resolve(PostKey(message.parts))
        }
    }

    // MARK: Pages

    private mutating func requestPage(now: BrokerTime) {
        while let reader = readers.nextForPage() {
            guard case .durable(let slot) = readers[reader].consumer, durables[slot].room > 0, holdIfFull(slot) else {
                continue
            }
            let durable = durables[slot]
            readers.pageRequested(reader, rights: access.policy.generation, now: now.monotonic)
            actions.append(
                .readPage(
                    PageRequest(
                        reader: reader, subscription: durable.id, filter: durable.filter,
                        access: access.readAccess(of: durable.owner), after: readers[reader].position,
                        maximumMessages: durable.room)))
        }
    }

    /// The store has read a page.
    package mutating func pageRead(_ page: Page, now: BrokerTime) {
        statistics.store = page.statistics
        let reader = page.reader
        guard readers.pageArrived(reader, rights: access.policy.generation),
            case .durable(let slot) = readers[reader].consumer
        else { return }
        switch page.result {
        case .failure(let failure):
            storageFailed(failure, now: now)
            readers.pageFailed(reader)
        case .success(let content):
            if !content.block.entries.isEmpty {
                let source = egress.addSource(content.block.frames)
                for entry in content.block.entries {
                    take(entry, for: reader, slot, source)
                }
                egress.closeRuns()
            }
            pass(reader, slot, through: content.scannedThrough)
            if readers[reader].position == commits.persistedThrough {
                becomeLive(reader, slot)
            } else {
                readers.wake(reader)
            }
        }
    }
}

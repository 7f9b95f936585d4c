import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire

@testable import NotifyBroker

/// A store in memory with the contract of the real one: requests complete one at a time, in order, except that a purge
/// gives way after each part. A test decides when each request completes and whether it fails. Violations of the
/// contract by the broker are recorded.
final class FakeStore {
    struct Message {
        var sequence: UInt64
        var name: [UInt8]
        var object: [UInt8]
        var frame: [UInt8]
        var uid: UInt32
        var time: UInt64
    }

    struct Copy {
        var row: Redelivery
        var reason: String
        let frame: [UInt8]

        func withMessage<Result>(_ body: (Delivery) -> Result) -> Result {
            frame.withUnsafeBytes { bytes in
                guard let message = try? Delivery(reading: bytes.slice(from: FrameHeader.size)) else {
                    preconditionFailure("a copy is no delivery")
                }
                return body(message)
            }
        }
    }

    enum Job {
        case commit(CommitBatch)
        case page(PageRequest)
        case redeliveries(RedeliveryRequest)
        /// Work for a request, but not for backups.
        case work(StoreWork, StoreTicket)

        var work: StoreWork? { if case .work(let work, _) = self { work } else { nil } }
    }

    enum Outcome {
        /// The outcome of a batch. Its deletion is reported first.
        case committed(Deletion, CommitOutcome)
        case deleted(Deletion)
        case page(Page)
        case redeliveries(RedeliveryPage)
        /// The answer to work. The work's deletion is reported first.
        case answered(Deletion?, StoreAnswer, StoreTicket)
    }

    /// The messages on disk.
    var messages: [Message] = []
    var subscriptions: [DurableID: DurableRecord] = [:]
    /// The copies of messages that are kept for subscriptions.
    private(set) var copies: [DurableID: [UInt64: Copy]] = [:]
    /// Removes copies without a request of the broker.
    func removeCopies(_ sequences: [UInt64], of id: DurableID) {
        for sequence in sequences { copies[id]?[sequence] = nil }
    }

    /// The values by their numbers, and the marks of cleared ones.
    var values: [UInt64: Value] = [:]
    /// The highest sequence of a mark that was forgotten.
    var forgottenThrough: UInt64 = 0
    /// The most values in a page.
    var valuesPerPage = Int.max
    /// The most values that are visited for a page.
    var valueRowsPerPage = Int.max
    /// The numbers of damaged values.
    var damagedValues: Set<UInt64> = []
    /// The messages that were deleted, each with the mark of the deletion, for readers of pages.
    var deletions: [(mark: UInt64, message: Message)] = []
    var deletionMark: UInt64 = 10
    /// The number of requests for copies.
    private(set) var redeliveryReads = 0
    private var missingCopies: [DurableID: [UInt64]] = [:]
    private var batchDeletion = Deletion()
    private var purgeResult = PurgeResult()
    var deleted = Deleted()
    /// Sequences below the mark are reserved.
    private(set) var mark: UInt64 = 1
    private var nextSubscriptionID = DurableID(1)
    private var cleanNextSequence: UInt64?

    private(set) var jobs: [Job] = []
    var statistics = StoreStatistics()
    private(set) var batches: [CommitBatch] = []
    var violations: [String] = []
    /// The highest sequence that was flushed.
    private(set) var syncedThrough: UInt64 = 0
    /// The initial cursor of each generation of a subscription.
    private(set) var firstCursors: [UInt64: UInt64] = [:]
    /// The sequences that a generation of a subscription may skip: its cursor had passed them before an edit made them
    /// match.
    private(set) var exempt: [UInt64: Set<UInt64>] = [:]
    /// All filters that a subscription has had.
    private(set) var filters: [DurableID: [SubscriptionFilter]] = [:]
    private(set) var (resets, edits) = (0, 0)
    /// The sequences of damaged messages, which pages skip.
    var damaged: Set<UInt64> = []
    /// Redeliveries that a start finds in addition to those of ``copies``.
    var otherRedeliveries: [DurableID: [Redelivery]] = [:]
    /// The findings of a check of the log.
    var findings = LogFindings()
    var pageRows = 1000
    var pageBytes = 256 << 10
    /// The number of messages that a purge deletes before other requests are completed.
    var purgeMessages = Int.max
    /// The deleted messages that lie after the start position of each new subscription; nil if there are none.
    var deletedBefore: Loss?

    /// The highest sequence of a message that is stored or was deleted.
    var persistedThrough: UInt64 { max(messages.last?.sequence ?? 0, deletedThrough) }
    var deletedThrough: UInt64 = 0
    /// The progress of each subscription as the broker reported it last.
    private var reportedProgress: [DurableID: DurableProgress] = [:]

    func subscription(named name: String) -> DurableRecord? { subscriptions.values.first { $0.name == name } }

    // MARK: Opening and closing

    /// The state from which a broker starts: after a clean stop if `close` was called, otherwise after a crash.
    func recovered() -> RecoveredLog {
        (jobs, reportedProgress, purgeResult) = ([], [:], PurgeResult())
        defer { cleanNextSequence = nil }
        var recovered = RecoveredLog(
            nextSequence: max(cleanNextSequence ?? mark, persistedThrough + 1), persistedThrough: persistedThrough,
            subscriptions: subscriptions.values.sorted { $0.id < $1.id }, usage: usage, names: names,
            wasClosedCleanly: cleanNextSequence != nil, nextSubscriptionID: nextSubscriptionID)
        recovered.redeliveries = copies.mapValues { $0.values.map(\.row).sorted { $0.sequence < $1.sequence } }
        recovered.redeliveries.merge(otherRedeliveries) { $0 + $1 }
        recovered.failureReasons = copies.compactMapValues { kept in
            kept.values.filter { $0.row.failures > 0 }.max { $0.row.delayMicroseconds < $1.row.delayMicroseconds }
                .map { ($0.row.sequence, $0.row.failures, $0.reason) }
        }
        recovered.values = storedValues
        return recovered
    }

    private var usage: [UInt32: StoredUsage] {
        messages.reduce(into: [:]) {
            $0[$1.uid, default: StoredUsage()] += $1.usage
        }
    }

    private var names: [UInt32: StoredNameSet] {
        messages.reduce(into: [:]) { names, message in
            let hash = message.name.withUnsafeBytes { StoredNameSet.hash($0) }
            names[message.uid, default: StoredNameSet()].insert(hash: hash, length: message.name.count)
        }
    }

    /// Removes all messages, as the replacement of a lost log does.
    func loseMessages() {
        messages = []
    }

    func close(nextSequence: UInt64) {
        cleanNextSequence = nextSequence
        mark = max(mark, nextSequence)
    }

    // MARK: Requests

    func add(_ job: Job) {
        if case .redeliveries = job { redeliveryReads += 1 }
        if case .commit(let batch) = job { batches.append(batch) }
        jobs.append(job)
    }

    /// Completes the oldest request, or lets it fail with `failure`.
    func perform(failingWith failure: StorageFailure? = nil) -> Outcome? {
        switch jobs.isEmpty ? nil : jobs.removeFirst() {
        case .commit(let batch):
            (missingCopies, batchDeletion) = ([:], Deletion())
            if failure == nil { commit(batch) }
            let result: Result<Void, StorageFailure> = failure.map { .failure($0) } ?? .success(())
            return .committed(
                batchDeletion,
                CommitOutcome(
                    batchID: batch.id, result: result, statistics: statistics, missingCopies: missingCopies))
        case .page(let request):
            let result: Result<Page.Content, StorageFailure> = failure.map { .failure($0) } ?? .success(read(request))
            return .page(Page(for: request.purpose, result: result, statistics: statistics))
        case .redeliveries(let request):
            let result: Result<RedeliveryPage.Content, StorageFailure> =
                failure.map { .failure($0) } ?? .success(read(request))
            return .redeliveries(
                RedeliveryPage(subscription: request.subscription, result: result, statistics: statistics))
        case .work(.purge(let request), let ticket): return purge(request, ticket, failingWith: failure)
        case .work(let work, let ticket): return .answered(nil, answer(to: work, failingWith: failure), ticket)
        case nil:
            return nil
        }
    }

    private func answer(to work: StoreWork, failingWith failure: StorageFailure?) -> StoreAnswer {
        switch work {
        case .findSequence(let time):
            let found = messages.first { $0.time >= time }?.sequence ?? persistedThrough + 1
            return failure.map { .failed($0) } ?? .found(found)
        case .measureBacklogs(let policy):
            return .backlogs(failure == nil ? subscriptions.mapValues { backlog(of: $0, under: policy) } : [:])
        case .summarize(let request):
            return failure.map { .failed($0) } ?? .summarized(summary(request))
        case .check:
            return .checked(findings)
        case .purge, .beginBackup, .readBackup, .endBackup: preconditionFailure("not answered here: \(work)")
        }
    }

    /// Completes a purge, or a part of it.
    private func purge(
        _ request: PurgeRequest, _ ticket: StoreTicket, failingWith failure: StorageFailure?
    ) -> Outcome {
        defer { if case .purge? = jobs.last?.work {} else { purgeResult = PurgeResult() } }
        if let failure { return .answered(nil, .failed(failure), ticket) }
        var request = request
        request.before = min(request.before, persistedThrough + 1)
        let (deletion, isLast) = purge(request)
        purgeResult.add(deletion)
        if isLast { return .answered(deletion, .purged(purgeResult), ticket) }
        jobs.append(.work(.purge(request), ticket))
        return .deleted(deletion)
    }

    private func commit(_ batch: CommitBatch) {
        for block in batch.blocks {
            for entry in block.entries { append(entry, of: block) }
        }
        changeValues(batch)
        for change in batch.changes { apply(change) }
        if let reserved = batch.reserveBelow { mark = max(mark, reserved) }
        statistics.commits += 1
        if batch.isSynced || batch.reserveBelow != nil {
            statistics.syncs += 1
            syncedThrough = persistedThrough
        }
        statistics.logMessages = UInt64(messages.count)
    }

    private func append(_ entry: LogBlock.Entry, of block: LogBlock) {
        if entry.sequence <= persistedThrough { violations.append("\(entry.sequence) after \(persistedThrough)") }
        if entry.sequence >= mark { violations.append("\(entry.sequence) is not below the mark \(mark)") }
        let start = block.frames.readerIndex + Int(entry.offset)
        guard let frame = block.frames.getBytes(at: start, length: Int(entry.length)) else {
            violations.append("an entry extends beyond its block")
            return
        }
        frame.withUnsafeBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size...])
            guard let message = try? Delivery(reading: body), message.stamp.sequence == entry.sequence else {
                violations.append("an entry points to another message")
                return
            }
            messages.append(
                Message(
                    sequence: entry.sequence, name: Array(message.parts.name), object: Array(message.parts.object),
                    frame: frame, uid: message.stamp.uid, time: message.stamp.timeMicroseconds))
        }
    }

    private func apply(_ change: DurableChange) {
        switch change {
        case .create(let record):
            if subscriptions[record.id] != nil { violations.append("subscription \(record.id) already exists") }
            if record.id < nextSubscriptionID { violations.append("id \(record.id) is reused") }
            if record.startedAfter != record.progress.cursor {
                violations.append("\(record.id) starts after \(record.startedAfter), its cursor differs")
            }
            check(record.progress)
            subscriptions[record.id] = record
            firstCursors[record.generation] = record.progress.cursor
            filters[record.id] = [record.filter]
            nextSubscriptionID = max(nextSubscriptionID, DurableID(record.id.rawValue + 1))
        case .update(let id, let progress):
            if subscriptions[id] == nil { violations.append("update of \(id), which does not exist") }
            if let before = subscriptions[id]?.progress.generation, before != progress.generation {
                violations.append("an update changes the generation of \(id) from \(before) to \(progress.generation)")
            }
            if let before = reportedProgress[id], before.generation == progress.generation,
                before.cursor > progress.cursor
            {
                violations.append("the cursor of \(id) decreases from \(before.cursor) to \(progress.cursor)")
            }
            check(progress)
            reportedProgress[id] = progress
            let raised = raised(progress, of: id)
            subscriptions[id]?.progress = raised
        case .replace(let record): replace(record)
        case .setOwner(let id, let owner, let attachment):
            if subscriptions[id]?.owner.uid != owner.uid { violations.append("\(id) changes its user") }
            subscriptions[id]?.attached(owner)
            subscriptions[id]?.lastAttachment = attachment
        case .countDeleted(let record):
            if subscriptions[record.id] == nil { violations.append("a loss of \(record.id), which does not exist") }
            guard let loss = deletedBefore else { return }
            subscriptions[record.id]?.loss.add(loss)
            var deletion = Deletion()
            deletion.began(record.progress.generation, of: record.id)
            deletion.add(loss, of: record.id)
            batchDeletion.add(deletion)
        case .addLoss(let id, let loss):
            if subscriptions[id] == nil { violations.append("a loss of \(id), which does not exist") }
            subscriptions[id]?.loss.add(loss)
        case .forgetLoss(let id, let loss):
            let rest = subscriptions[id]?.loss?.without(loss)
            subscriptions[id]?.loss = rest
        case .remove(let id):
            subscriptions[id] = nil
            copies[id] = nil
        case .keep(let id, let row, let reason, let frame): keep(id, row, reason, frame)
        case .forget(let id, let sequences):
            for sequence in sequences { copies[id]?[sequence] = nil }
        case .delete(let sequences):
            let all = Set(sequences)
            var deletion = delete { all.contains($0.sequence) }
            deletion.deadLettersThrough = sequences.last ?? 0
            batchDeletion.add(deletion)
        }
    }

    /// The progress to store when the broker reports `progress`. The stored progress may be higher, because the broker
    /// might not know yet that retention has moved the cursor.
    private func raised(_ progress: DurableProgress, of id: DurableID) -> DurableProgress {
        guard let stored = subscriptions[id]?.progress, stored.generation == progress.generation else {
            return progress
        }
        return progress.raised(to: stored.cursor)
    }

    private func keep(_ id: DurableID, _ row: Redelivery, _ reason: String, _ frame: ByteBuffer?) {
        if subscriptions[id] == nil { violations.append("a copy for \(id), which does not exist") }
        if copies[id]?[row.sequence] != nil {
            copies[id]?[row.sequence]?.row = row
            copies[id]?[row.sequence]?.reason = reason
            return
        }
        let frame = frame.map { Array($0.readableBytesView) } ?? message(row.sequence)?.frame
        let generation = subscriptions[id]?.generation ?? 0
        guard let frame else {
            deleted.missing[generation, default: []].insert(row.sequence)
            return missingCopies[id, default: []].append(row.sequence)
        }
        if Int(row.bytes) != frame.count {
            violations.append("the row of a copy of \(frame.count) bytes says \(row.bytes) bytes")
        }
        copies[id, default: [:]][row.sequence] = Copy(row: row, reason: reason, frame: frame)
        deleted.copied[generation, default: []].insert(row.sequence)
        if copies[id, default: [:]].count > Redelivery.maximumCount { violations.append("too many copies for \(id)") }
    }

    private func replace(_ record: DurableRecord) {
        guard var stored = subscriptions[record.id] else {
            violations.append("replacement of \(record.id), which does not exist")
            return
        }
        if stored.settings != record.settings {
            if stored.filter != record.filter || stored.progress.generation != record.progress.generation {
                violations.append("not one change: \(record)")
            }
            stored.settings = record.settings
            stored.progress = raised(record.progress, of: record.id)
            subscriptions[record.id] = stored
            return
        }
        if record.progress.isAttached { violations.append("\(record.id) is attached while it is changed") }
        let isReset = stored.progress.generation != record.progress.generation
        if isReset, record.progress.generation != stored.progress.generation + 1 {
            violations.append("generation \(record.progress.generation) after \(stored.progress.generation)")
        }
        if isReset == (stored.filter != record.filter) { violations.append("not one change: \(record)") }
        check(record.progress)
        if isReset {
            resets += 1
            copies[record.id] = nil
            firstCursors[record.generation] = record.progress.cursor
            stored.loss = nil
        } else {
            edits += 1
            let access = ReadAccess(policy: AccessPolicy(), identities: record.owners)
            let progress = raised(record.progress, of: record.id)
            let added = (deleted.messages.values + messages).filter {
                progress.hasPassed($0.sequence) && $0.matches(record.filter, access)
                    && !$0.matches(stored.filter, access)
            }
            exempt[record.generation, default: []].formUnion(added.map(\.sequence))
            filters[record.id, default: []].append(record.filter)
        }
        stored.filter = record.filter
        stored.startedAfter = record.startedAfter
        stored.progress = raised(record.progress, of: record.id)
        subscriptions[record.id] = stored
    }

    /// Turns a subscription into one that an earlier version of the daemon created.
    func forgetCreation(of name: String) {
        if let id = subscription(named: name)?.id { subscriptions[id]?.createdMicroseconds = 0 }
    }

    private func check(_ progress: DurableProgress) {
        var previous = progress.cursor
        for range in progress.acknowledged {
            if range.first <= previous || range.last < range.first {
                violations.append("ranges \(progress.acknowledged) after cursor \(progress.cursor)")
            }
            previous = range.last
        }
    }
}

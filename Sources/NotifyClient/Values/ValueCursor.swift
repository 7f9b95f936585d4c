import NotifyCenter
import NotifyWire

/// The progress of reading values: first all of them by key, then, for a watch, their changes.
///
/// A page of changes contains the last change of each value, from a limited number of values of all names. If others
/// change more values than the pages reach, a value that changes all the time could stay ahead of them. The watch then
/// reads the stored values by key again.
struct ValueCursor: Sendable {
    private enum Stage {
        /// Values by key. The keys above ``ReadValues/lastStoredKey`` are those of announced values.
        case keys(after: UInt64, through: UInt64)
        case changes
        /// Stored values by key once more, of which those that have changed since ``changesAfter`` are reported.
        case changedKeys(after: UInt64, through: UInt64)

        static let allKeys = Stage.keys(after: 0, through: .max)
        static let announcedKeys = Stage.keys(after: ReadValues.lastStoredKey, through: .max)
    }

    let patterns: [String]
    /// Whether no pattern has a wildcard.
    let isExact: Bool
    private let object: String?
    private let isWatch: Bool
    private var stage = Stage.allKeys
    /// Whether there may be changes from before the beginning.
    private var isCatchingUp = true
    /// The epoch of the log that is read; 0 before the first page.
    private var epoch: UInt64 = 0
    /// The sequence after which changes of stored values are read.
    private var changesAfter: UInt64 = 0
    /// The run of the daemon, and the sequence after which changes of announced values are read.
    private var run: UInt64 = 0
    private var announcedAfter: UInt64 = 0
    /// The ends of the changes when the last values were read by key. The present state is complete once the changes up
    /// to them were read.
    private var (changesEnd, announcedEnd): (UInt64, UInt64) = (0, 0)
    /// The end of the changes of stored values when the watch fell behind it; nil if it is not behind.
    private var endBehind: UInt64?
    /// The sequences above ``changesAfter`` of stored values, and above ``announcedAfter`` of announced ones, that were
    /// read by key. Those that are not replaced come again as changes.
    private var (storedByKey, announcedByKey): (Set<UInt64>, Set<UInt64>) = ([], [])
    private var announced = AnnouncedValues()

    init(
        _ patterns: [String], object: String?, isWatch: Bool = false,
        from position: NotificationClient.ValuePosition? = nil
    ) throws(NotifyError) {
        let spec = try SubscriptionSpec(patterns: patterns, object: object, kind: .volatile(), limit: nil)
        self.patterns = spec.patterns.map(\.string)
        isExact = spec.patterns.allSatisfy(\.isExact)
        self.object = object
        self.isWatch = isWatch
        if let position {
            (stage, epoch, changesAfter) = (.announcedKeys, position.epoch, position.sequence)
        }
    }

    /// The object of one value; empty for none.
    ///
    /// - Throws: ``NotifyError`` with `invalidObject`.
    static func checked(_ object: String?) throws(NotifyError) -> String {
        let object = object ?? ""
        guard object.utf8.count <= Limits.objectBytes else { throw .invalidObject(bytes: object.utf8.count) }
        return object
    }

    /// Whether a page has arrived, or the cursor continues an earlier one.
    var hasBegun: Bool { epoch != 0 }

    /// Whether every value was read, so that changes follow.
    var isUpToDate: Bool { if case .changes = stage { true } else { false } }

    private var isReadingChangedKeys: Bool { if case .changedKeys = stage { true } else { false } }

    /// The request for the next page.
    var request: ReadValues {
        switch stage {
        case .keys(let after, let through), .changedKeys(let after, let through):
            ReadValues(.keys(after: after, through: through), object: object, patterns: patterns)
        case .changes:
            ReadValues(
                epoch: epoch, run: run,
                .changes(after: changesAfter, announcedAfter: announcedAfter, isWaiting: !isCatchingUp),
                object: object, patterns: patterns)
        }
    }

    /// Continues after a page, and returns its events.
    mutating func received(_ page: ReceivedPage<ValuePage>) -> [NotificationClient.ValueEvent] {
        let header = page.header
        // The keys of another log have nothing to do with those that were read.
        guard !header.isReset, epoch == 0 || header.epoch == epoch else {
            reset()
            return [.reset]
        }
        let isSameRun = run == 0 || header.run == run
        let isFirst = epoch == 0
        (epoch, run) = (header.epoch, header.run)
        guard isSameRun, !header.isAnnouncedReset else { return announcedReset() }
        var events: [NotificationClient.ValueEvent] = []
        // Reading by key once more would report the same values again.
        if header.damaged > 0, !isReadingChangedKeys { events.append(.damaged(count: Int(header.damaged))) }
        switch stage {
        case .keys(_, let through):
            if isFirst { changesAfter = header.committedThrough }
            if through == .max { announcedAfter = header.announcedThrough }
            (changesEnd, announcedEnd) = (header.committedThrough, header.announcedThrough)
            for message in page.messages {
                if isWatch { noteReadByKey(message) }
                events.append(.value(message))
            }
            stage = nextStage(after: header, through: through)
        case .changedKeys:
            for message in page.messages where message.sequence > changesAfter {
                guard storedByKey.insert(message.sequence).inserted, let event = announced.event(message) else {
                    continue
                }
                events.append(event)
            }
            stage = header.isEnd ? .changes : .changedKeys(after: header.through, through: header.lastKey)
        case .changes:
            (changesAfter, announcedAfter) = (header.through, header.announcedThrough)
            for message in page.messages {
                guard storedByKey.remove(message.sequence) == nil, announcedByKey.remove(message.sequence) == nil,
                    let event = announced.event(message)
                else { continue }
                events.append(event)
            }
            announced.storedChangesEnded(at: changesAfter)
            if isCatchingUp, changesAfter >= changesEnd, announcedAfter >= announcedEnd {
                events.append(.upToDate(.init(epoch: epoch, sequence: changesAfter)))
                isCatchingUp = false
            }
            changesRead(header)
        }
        return events
    }

    private mutating func changesRead(_ page: ValuePage) {
        guard changesAfter < page.committedThrough else {
            (endBehind, storedByKey) = (nil, [])
            if announcedAfter >= announcedEnd { announcedByKey = [] }
            return
        }
        let end = endBehind ?? page.committedThrough
        endBehind = end
        guard changesAfter >= end else { return }
        (endBehind, stage) = (nil, .changedKeys(after: 0, through: ReadValues.lastStoredKey))
        storedByKey = storedByKey.filter { $0 > changesAfter }
    }

    private mutating func noteReadByKey(_ message: NotificationClient.Message) {
        if message.isEphemeral {
            if message.sequence > announcedAfter { announcedByKey.insert(message.sequence) }
        } else if message.sequence > changesAfter {
            storedByKey.insert(message.sequence)
        }
        _ = announced.event(message)
    }

    private func nextStage(after page: ValuePage, through: UInt64) -> Stage {
        guard page.isEnd else { return .keys(after: page.through, through: through == .max ? page.lastKey : through) }
        return through > ReadValues.lastStoredKey ? .changes : .announcedKeys
    }

    private mutating func reset() {
        (stage, isCatchingUp, epoch, changesAfter, storedByKey) = (.allKeys, true, 0, 0, [])
        (run, announcedAfter, announced, announcedByKey, endBehind) = (0, 0, AnnouncedValues(), [], nil)
    }

    /// Forgets the announced values, and reads them again.
    private mutating func announcedReset() -> [NotificationClient.ValueEvent] {
        announcedAfter = 0
        switch stage {
        case .keys(let after, _) where after < ReadValues.lastStoredKey: break
        case .keys, .changes, .changedKeys: stage = .announcedKeys
        }
        return announced.removeAll().map { .cleared($0) }
    }
}

extension ReceivedPage {
    /// The messages of the page.
    var messages: [NotificationClient.Message] {
        batches.flatMap { batch in batch.entries.indices.map { .init(batch: batch, index: $0) } }
    }
}

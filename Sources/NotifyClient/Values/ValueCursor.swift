import NotifyCenter
import NotifyWire

/// The progress of reading values: first all of them by key, then, for a watch, their changes.
struct ValueCursor: Sendable {
    private enum Stage {
        case keys(after: UInt64, through: UInt64)
        /// - isCatchingUp: Whether there may be changes from before the beginning.
        case changes(after: UInt64, isCatchingUp: Bool)
    }

    let patterns: [String]
    /// Whether no pattern has a wildcard.
    let isExact: Bool
    private let object: String?
    private let isWatch: Bool
    private var stage: Stage
    /// The epoch of the log that is read; 0 before the first page.
    private var epoch: UInt64 = 0
    /// The sequence after which changes are read once all keys were read.
    private var changesAfter: UInt64 = 0
    /// The sequences above ``changesAfter`` that were read by key. They come again as changes.
    private var readByKey: Set<UInt64> = []
    /// The run of the daemon, and the sequence after which changes of announced values are read.
    private var run: UInt64 = 0
    private var announcedAfter: UInt64 = 0
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
        stage = Self.beginning(isWatch: isWatch)
        if let position {
            epoch = position.epoch
            stage = .changes(after: position.sequence, isCatchingUp: true)
        }
    }

    /// A watch reads announced values as changes.
    private static func beginning(isWatch: Bool) -> Stage {
        .keys(after: 0, through: isWatch ? ReadValues.lastStoredKey : .max)
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

    /// The request for the next page.
    var request: ReadValues {
        switch stage {
        case .keys(let after, let through):
            ReadValues(.keys(after: after, through: through), object: object, patterns: patterns)
        case .changes(let after, let isCatchingUp):
            ReadValues(
                epoch: epoch, run: run,
                .changes(after: after, announcedAfter: announcedAfter, isWaiting: !isCatchingUp), object: object,
                patterns: patterns)
        }
    }

    /// Continues after a page, and returns its events.
    mutating func received(_ page: ReceivedPage<ValuePage>) -> [NotificationClient.ValueEvent] {
        let header = page.header
        // The keys of another log have nothing to do with those that were read.
        guard !header.isReset, epoch == 0 || header.epoch == epoch else {
            stage = Self.beginning(isWatch: isWatch)
            (epoch, changesAfter, readByKey) = (0, 0, [])
            (run, announcedAfter, announced) = (0, 0, AnnouncedValues())
            return [.reset]
        }
        (epoch, run) = (header.epoch, header.run)
        guard !header.isAnnouncedReset else {
            announcedAfter = 0
            return announced.removeAll().map { .cleared($0) }
        }
        var events: [NotificationClient.ValueEvent] = header.damaged > 0 ? [.damaged(count: Int(header.damaged))] : []
        switch stage {
        case .keys(_, let through):
            let isFirst = through == .max || through == ReadValues.lastStoredKey
            if isFirst { changesAfter = header.changesAfter }
            for message in page.messages {
                if message.sequence > changesAfter { readByKey.insert(message.sequence) }
                events.append(.value(message))
            }
            stage = nextStage(after: header, through: through, isFirst: isFirst)
        case .changes(_, let isCatchingUp):
            announcedAfter = header.announcedThrough
            for message in page.messages where readByKey.remove(message.sequence) == nil {
                if let event = announced.event(message) { events.append(event) }
            }
            // A value that was replaced before its change was read does not come again.
            if header.isEnd { readByKey = [] }
            stage = .changes(after: header.through, isCatchingUp: isCatchingUp && !header.isEnd)
            if isCatchingUp, header.isEnd {
                events.append(.upToDate(.init(epoch: epoch, sequence: header.through)))
            }
        }
        return events
    }

    private func nextStage(after page: ValuePage, through: UInt64, isFirst: Bool) -> Stage {
        guard page.isEnd else { return .keys(after: page.through, through: isFirst ? page.lastKey : through) }
        guard isWatch || through > ReadValues.lastStoredKey else {
            return .keys(after: ReadValues.lastStoredKey, through: .max)
        }
        return .changes(after: changesAfter, isCatchingUp: true)
    }
}

extension ReceivedPage {
    /// The messages of the page.
    var messages: [NotificationClient.Message] {
        batches.flatMap { batch in batch.entries.indices.map { .init(batch: batch, index: $0) } }
    }
}

import NotifyCenter
import NotifyWire

/// The progress of reading values: first all of them by key, then their changes.
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
    private var stage = Stage.keys(after: 0, through: .max)
    /// The epoch of the log that is read; 0 before the first page.
    private var epoch: UInt64 = 0
    /// The sequence after which changes are read once all keys were read.
    private var changesAfter: UInt64 = 0
    /// The sequences above ``changesAfter`` that were read by key. They come again as changes.
    private var readByKey: Set<UInt64> = []

    init(
        _ patterns: [String], object: String?, from position: NotificationClient.ValuePosition? = nil
    ) throws(NotifyError) {
        let spec = try SubscriptionSpec(patterns: patterns, object: object, kind: .volatile(), limit: nil)
        self.patterns = spec.patterns.map(\.string)
        isExact = spec.patterns.allSatisfy(\.isExact)
        self.object = object
        if let position {
            epoch = position.epoch
            stage = .changes(after: position.sequence, isCatchingUp: true)
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

    /// The request for the next page.
    var request: ReadValues {
        switch stage {
        case .keys(let after, let through):
            ReadValues(.keys(after: after, through: through), object: object, patterns: patterns)
        case .changes(let after, let isCatchingUp):
            ReadValues(
                epoch: epoch, .changes(after: after, isWaiting: !isCatchingUp), object: object, patterns: patterns)
        }
    }

    /// Continues after a page, and returns its events.
    mutating func received(_ page: ReceivedPage<ValuePage>) -> [NotificationClient.ValueEvent] {
        let header = page.header
        // The keys of another log have nothing to do with those that were read.
        guard !header.isReset, epoch == 0 || header.epoch == epoch else {
            (stage, epoch, changesAfter, readByKey) = (.keys(after: 0, through: .max), 0, 0, [])
            return [.reset]
        }
        epoch = header.epoch
        var events: [NotificationClient.ValueEvent] = header.damaged > 0 ? [.damaged(count: Int(header.damaged))] : []
        switch stage {
        case .keys(_, let through):
            if through == .max { changesAfter = header.changesAfter }
            for message in page.messages {
                if message.sequence > changesAfter { readByKey.insert(message.sequence) }
                events.append(.value(message))
            }
            guard header.isEnd else {
                stage = .keys(after: header.through, through: through == .max ? header.lastKey : through)
                break
            }
            stage = .changes(after: changesAfter, isCatchingUp: false)
            events.append(.upToDate(.init(epoch: epoch, sequence: changesAfter)))
        case .changes(_, let isCatchingUp):
            for message in page.messages where readByKey.remove(message.sequence) == nil {
                events.append(message.clearedReason == nil ? .value(message) : .cleared(message))
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
}

extension ReceivedPage {
    /// The messages of the page.
    var messages: [NotificationClient.Message] {
        batches.flatMap { batch in batch.entries.indices.map { .init(batch: batch, index: $0) } }
    }
}

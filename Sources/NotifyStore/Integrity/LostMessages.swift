import NotifyLog
import NotifyWire

/// The messages that a repair does not keep. They determine the loss of each durable subscription.
///
/// A sequence from `Limits.sequenceEnd` on is forged, because no log assigns it. Its message does not count as lost.
struct LostMessages {
    /// The sequences of damaged messages, ascending, by the ids of their names. The key nil is for unknown names.
    private var sequences: [UInt32?: [UInt64]] = [:]
    /// The ranges in which messages are missing, each with an upper bound of their number.
    private var ranges: [(first: UInt64, last: UInt64, count: UInt64)] = []

    /// Adds a damaged message. Sequences must ascend.
    ///
    /// - Parameter name: The id of its name; nil if it is unknown.
    mutating func add(_ sequence: UInt64, name: UInt32?) {
        if sequence < Limits.sequenceEnd { sequences[name, default: []].append(sequence) }
    }

    /// Adds a range in which messages are missing, at most `count` of them.
    mutating func add(_ range: ClosedRange<UInt64>, count: UInt64) {
        guard range.lowerBound < Limits.sequenceEnd else { return }
        ranges.append((range.lowerBound, min(range.upperBound, Limits.sequenceEnd - 1), count))
    }

    /// The lost messages as deletions, for readers of the log.
    func events(_ names: borrowing NameTable) -> [DeletionLog.Event] {
        var events: [DeletionLog.Event] = []
        for (id, lost) in sequences {
            guard let first = lost.first, let last = lost.last else { continue }
            var event = DeletionLog.Event(first: first, last: last, count: UInt64(lost.count))
            if let id, let name = names.number(ofID: id) { event.name = names.withBytes(of: name) { Array($0) } }
            events.append(event)
        }
        for range in ranges {
            let count = min(range.count, range.last - range.first + 1)
            events.append(.init(first: range.first, last: range.last, count: count, isSum: true))
        }
        return events
    }

    /// The unacknowledged messages that a subscription has lost; nil if there are none. The loss is an upper bound if
    /// some of the messages may have been delivered, or if it is unknown whether they match the filter.
    func loss(
        of filter: SubscriptionFilter, since progress: DurableProgress, _ names: borrowing NameTable
    ) -> Loss? {
        var loss: Loss?
        func add(_ other: Loss) { if loss?.add(other) == nil { loss = other } }
        for (id, lost) in sequences {
            var isNameKnown = false
            if let id, let name = names.number(ofID: id) {
                guard names.withBytes(of: name, { filter.matches(name: $0) }) else { continue }
                isNameKnown = true
            }
            var acknowledged = progress.acknowledged[...]
            for sequence in lost where sequence > progress.cursor {
                while let range = acknowledged.first, range.last < sequence { acknowledged.removeFirst() }
                if let range = acknowledged.first, range.first <= sequence { continue }
                let maybeDelivered = progress.isAttached || sequence <= progress.seenThrough
                add(
                    Loss(
                        first: sequence, last: sequence, count: 1,
                        isUpperBound: !isNameKnown || filter.object != nil || maybeDelivered))
            }
        }
        for range in ranges where range.last > progress.cursor {
            let first = max(range.first, progress.cursor + 1)
            let left = range.last - first + 1 - progress.acknowledged.count(from: first, through: range.last)
            guard left > 0 else { continue }
            add(Loss(first: first, last: range.last, count: min(range.count, left), isUpperBound: true))
        }
        return loss
    }
}

extension [SequenceRange] {
    /// The number of sequences from `first` through `last` that these disjoint ranges contain.
    fileprivate func count(from first: UInt64, through last: UInt64) -> UInt64 {
        reduce(0) { sum, range in
            let (first, last) = (Swift.max(first, range.first), Swift.min(last, range.last))
            return first <= last ? sum + last - first + 1 : sum
        }
    }
}

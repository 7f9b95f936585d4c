package import NotifyWire

/// The result of a step of retention or of a purge, or of the deletions by a batch: the deleted messages and copies,
/// and the state of the log afterwards.
package struct Deletion: Equatable, Sendable {
    /// The number and bytes of the deleted messages of each user.
    package var usage: [UInt32: StoredUsage] = [:]
    /// Names that no stored message has any more.
    package var names: [[UInt8]] = []
    /// Ranges of sequences that contain no messages any more, damaged or not.
    package var emptied: [SequenceRange] = []
    /// The unread messages that durable subscriptions have lost.
    package var losses: [DurableID: Loss] = [:]
    /// The durable subscriptions whose cursors were moved forward because the backlog of their user was too large, each
    /// with the last sequence that its cursor has passed. The messages up to this sequence may still be stored. The
    /// unacknowledged ones are in ``losses``.
    package var released: [DurableID: UInt64] = [:]
    /// The messages whose copies for a durable subscription were deleted, in ascending order within a step. These
    /// messages are in ``losses``, too.
    package var copies: [DurableID: [UInt64]] = [:]
    /// The generations of the cursors to which the losses, copies and releases belong.
    package var generations: [DurableID: UInt32] = [:]
    /// Durable subscriptions that were not attached for so long that they must be removed.
    package var expired: Set<DurableID> = []
    /// Whether a purge deleted the messages, and not a retention rule.
    package var isPurge = false
    /// The highest sequence of a dead letter that was deleted on request; 0 if there is none.
    package var deadLettersThrough: UInt64 = 0
    /// Whether some of the messages were deleted only to make room for others.
    package var madeRoom = false
    /// The statistics of the store after the deletion; nil if they have not changed since the last report.
    package var statistics: StoreStatistics?
    /// Whether retention has begun to fail, or works again; nil if neither happened.
    package var health: RetentionHealth?

    package init(usage: [UInt32: StoredUsage] = [:]) {
        self.usage = usage
    }

    /// Adds a later deletion.
    package mutating func add(_ other: Deletion) {
        usage.merge(other.usage) { $0 + $1 }
        names += other.names
        emptied += other.emptied
        for (id, generation) in other.generations { began(generation, of: id) }
        for (id, loss) in other.losses { add(loss, of: id) }
        released.merge(other.released) { max($0, $1) }
        copies.merge(other.copies) { $0 + $1 }
        expired.formUnion(other.expired)
        health = other.health ?? health
        isPurge = isPurge || other.isPurge
        deadLettersThrough = max(deadLettersThrough, other.deadLettersThrough)
        madeRoom = madeRoom || other.madeRoom
        statistics = other.statistics ?? statistics
    }

    /// Notes the generation to which the following loss or release of a subscription belongs. Losses and releases of an
    /// earlier generation are dropped, because the cursor was reset since.
    package mutating func began(_ generation: UInt32, of id: DurableID) {
        if let earlier = generations.updateValue(generation, forKey: id), earlier != generation {
            losses[id] = nil
            released[id] = nil
            copies[id] = nil
        }
    }

    /// Adds a loss of a subscription.
    package mutating func add(_ loss: Loss, of id: DurableID) {
        losses[id].add(loss)
    }

    package var isEmpty: Bool {
        usage.isEmpty && names.isEmpty && emptied.isEmpty && losses.isEmpty && released.isEmpty && copies.isEmpty
            && expired.isEmpty && health == nil && statistics == nil
    }
}

/// Whether retention works: it can find and delete the messages that the rules no longer keep.
package enum RetentionHealth: Equatable, Sendable {
    case works
    case failed(StorageFailure)
}

/// Messages that a durable subscription lost before it acknowledged them.
package struct Loss: Equatable, Sendable {
    /// The lowest and the highest sequence of a lost message.
    package var first: UInt64
    package var last: UInt64
    /// The number of lost messages; with `isUpperBound`, at most this number.
    package var count: UInt64
    /// Whether the number of lost messages may be lower: some may have been delivered before, or might not match.
    /// Whether a message matches is unknown if it is damaged, or if the subscription has an object filter.
    package var isUpperBound: Bool

    package init(first: UInt64, last: UInt64, count: UInt64, isUpperBound: Bool) {
        self.first = first
        self.last = last
        self.count = count
        self.isUpperBound = isUpperBound
    }

    /// The loss of some messages; nil if there are none.
    package init?(of sequences: [UInt64], isUpperBound: Bool = false) {
        guard let first = sequences.min(), let last = sequences.max() else { return nil }
        self.init(first: first, last: last, count: UInt64(sequences.count), isUpperBound: isUpperBound)
    }

    /// Adds another loss of the same subscription.
    package mutating func add(_ other: Loss) {
        first = min(first, other.first)
        last = max(last, other.last)
        count += other.count
        isUpperBound = isUpperBound || other.isUpperBound
    }

    /// Subtracts messages from the number that was lost, and keeps the range of sequences. Returns nil if no messages
    /// remain.
    package func without(_ other: Loss) -> Loss? {
        guard count > other.count else { return nil }
        return Loss(first: first, last: last, count: count - other.count, isUpperBound: isUpperBound)
    }
}

extension Loss? {
    /// Adds another loss of the same subscription.
    package mutating func add(_ other: Loss) {
        if self?.add(other) == nil { self = other }
    }
}

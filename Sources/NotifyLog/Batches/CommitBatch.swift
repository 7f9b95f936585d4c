package import NIOCore

/// The messages and changes that the store commits in one transaction.
package struct CommitBatch: Sendable {
    /// Identifies the batch. Returned with the outcome.
    package var id: UInt64
    /// The messages to append: all entries of all blocks, in ascending order of sequence.
    package var blocks: [LogBlock]
    /// Changes to durable subscriptions, applied in order after the messages are appended.
    package var changes: [DurableChange]
    /// The new upper bound of reserved sequences, exclusive; nil to keep the bound. If not nil, the batch is flushed to
    /// disk (fsync) before the outcome is reported.
    package var reserveBelow: UInt64?
    /// Whether to flush to disk (fsync) before the outcome is reported.
    package var isSynced: Bool
    /// Whether the batch tests if storage works again after a failure. Such a batch fails unless there is some room
    /// below the size limit and some disk space above the minimum: 1/16 of each limit or 1 MiB, whichever is less. The
    /// changes of a batch without messages are committed nevertheless, because acknowledgements make room.
    package var isProbe: Bool
    /// For each user, the bytes of the copies (see ``Redelivery``) that the user's durable subscriptions have after the
    /// batch. The copies count towards the limit of the bytes that a user may hold back. Users without copies are left
    /// out.
    package var copyBytes: [UInt32: Int] = [:]
    /// What the batch changes about values; nil for nothing. One optional, because it costs less in each copy of a batch
    /// than two empty arrays.
    private var valueChanges: ValueChanges?

    private struct ValueChanges {
        var values: [ValueChange] = []
        var forgotten = ForgottenValues()
    }

    package init(
        id: UInt64, blocks: [LogBlock] = [], changes: [DurableChange] = [], reserveBelow: UInt64? = nil,
        isSynced: Bool = false, isProbe: Bool = false
    ) {
        self.id = id
        self.blocks = blocks
        self.changes = changes
        self.reserveBelow = reserveBelow
        self.isSynced = isSynced
        self.isProbe = isProbe
    }

    /// The values that the messages of the batch set or clear, in ascending order of sequence.
    package var values: [ValueChange] {
        get { valueChanges?.values ?? [] }
        set { valueChanges = ValueChanges(values: newValue, forgotten: forgottenValues) }
    }

    /// The numbers of cleared values whose marks are deleted, and the highest of their sequences.
    package var forgottenValues: ForgottenValues {
        get { valueChanges?.forgotten ?? ForgottenValues() }
        set { valueChanges = ValueChanges(values: values, forgotten: newValue) }
    }
}

/// Marks of cleared values that are deleted.
package struct ForgottenValues: Equatable, Sendable {
    package var numbers: [UInt64] = []
    /// The highest sequence of the marks; 0 if there are none.
    package var through: UInt64 = 0

    package init() {}
}

package enum DurableChange: Equatable, Sendable {
    case create(DurableRecord)
    /// Sets the subscription's progress. Ignored if its generation is lower than the stored one.
    case update(id: DurableID, DurableProgress)
    /// Adds the deleted messages after the start position of a new subscription to the subscription's loss. Follows the
    /// change that creates the subscription.
    case countDeleted(DurableRecord)
    /// Replaces the filter, the settings, the start and the progress of a subscription. If the generation changes, the
    /// subscription's losses and its copies of messages are removed.
    case replace(DurableRecord)
    /// Makes the identity of a new attachment the owner of the subscription, keeps the earlier owners, and sets the
    /// time of the attachment.
    case setOwner(id: DurableID, Identity, LastAttachment = LastAttachment())
    /// Adds messages that the daemon has dropped to the subscription's loss.
    case addLoss(id: DurableID, Loss)
    /// Subtracts messages from the subscription's loss.
    case forgetLoss(id: DurableID, Loss)
    case remove(id: DurableID)
    /// Keeps a copy of a message for its next delivery, or changes the record of an earlier copy. A new copy is made
    /// from `frame`, the message's deliver frame, or from the log if `frame` is nil. If the log does not contain the
    /// message, the outcome reports that.
    case keep(id: DurableID, Redelivery, reason: String, frame: ByteBuffer? = nil)
    /// Deletes the copies of messages. Copies that do not exist are ignored.
    case forget(id: DurableID, sequences: [UInt64])
    /// Deletes dead letters from the log. Dead letters that do not exist are ignored.
    case delete(sequences: [UInt64])

    /// The approximate heap memory of the change's contents, in bytes.
    package var byteCount: Int {
        switch self {
        case .create(let record), .countDeleted(let record), .replace(let record):
            record.filter.byteCount + record.name.utf8.count
        case .update(_, let progress): progress.acknowledged.count * 16
        case .setOwner(_, let identity, _): identity.groups.count * MemoryLayout<UInt32>.stride
        case .addLoss, .forgetLoss, .remove: 0
        case .keep(_, _, let reason, let frame): reason.utf8.count + (frame?.readableBytes ?? 0)
        case .forget(_, let sequences), .delete(let sequences): sequences.count * MemoryLayout<UInt64>.stride
        }
    }
}

package import NotifyWire

/// A durable subscription as stored in the log.
package struct DurableRecord: Equatable, Sendable {
    package var id: DurableID
    /// The identity that attached last, or created the subscription. The subscription's name is unique per uid.
    package var owner: Identity
    /// The identities that attached before the owner, the one that attached longest ago first. All have its uid.
    package var earlierOwners: [Identity]
    package var name: String
    package var filter: SubscriptionFilter
    package var settings: DurableSettings
    /// The sequence after which the subscription begins: its cursor when it was created, or an earlier position to
    /// which it was reset since. Also 0 if the start is unknown, because an earlier version created the subscription.
    package var startedAfter: UInt64
    /// The time of creation, in microseconds since 1970; 0 if unknown, because an earlier version created the
    /// subscription.
    package var createdMicroseconds: UInt64
    package var lastAttachment: LastAttachment
    package var progress: DurableProgress
    /// The messages that the subscription has lost. Kept until a client that received the gap acknowledges a later
    /// message.
    package var loss: Loss?

    package init(
        id: DurableID, owner: Identity, earlierOwners: [Identity] = [], name: String, filter: SubscriptionFilter,
        settings: DurableSettings = DurableSettings(defaultsFor: .exclusive), startedAfter: UInt64,
        createdMicroseconds: UInt64 = 0, lastAttachment: LastAttachment = LastAttachment(), progress: DurableProgress,
        loss: Loss? = nil
    ) {
        self.createdMicroseconds = createdMicroseconds
        self.lastAttachment = lastAttachment
        self.id = id
        self.owner = owner
        self.earlierOwners = earlierOwners
        self.name = name
        self.filter = filter
        self.settings = settings
        self.startedAfter = startedAfter
        self.progress = progress
        self.loss = loss
    }

    /// The maximum number of identities that are remembered.
    package static let maximumOwners = 8

    /// The identities that attached, the latest one last. A message that none of them may receive is not for the
    /// subscription.
    package var owners: [Identity] { earlierOwners + [owner] }

    /// Records that an identity attached. If there are too many, the one that attached longest ago is forgotten.
    package mutating func attached(_ identity: Identity) {
        var owners = owners
        owners.attached(identity)
        earlierOwners = owners.dropLast()
        owner = identity
    }
}

extension [Identity] {
    /// Adds an identity to the owners of a durable subscription as the latest one.
    package mutating func attached(_ identity: Identity) {
        removeAll { $0 == identity }
        append(identity)
        if count > DurableRecord.maximumOwners { removeFirst() }
    }
}

/// The last committed attachment of a client with credit.
package struct LastAttachment: Equatable, Sendable {
    /// The time of the attachment, in microseconds since 1970; 0 if there was none, or if it is unknown, because the
    /// client attached to an earlier version.
    package var microseconds: UInt64
    package var pid: UInt32

    package init(microseconds: UInt64 = 0, pid: UInt32 = 0) {
        self.microseconds = microseconds
        self.pid = pid
    }
}

/// The persisted progress of a durable subscription.
package struct DurableProgress: Equatable, Sendable {
    /// Every matching message up to this sequence is acknowledged or skipped, or the log has a copy for its redelivery.
    package var cursor: UInt64
    /// Every message up to this sequence may have been delivered to a client. Later messages were not delivered.
    package var seenThrough: UInt64
    /// Acknowledged ranges above the cursor, ascending and disjoint.
    package var acknowledged: [SequenceRange]
    /// Changes when the cursor is reset, and when a repair has lost the progress. Clients compare this number and the id
    /// to detect that their record of earlier deliveries is stale.
    package var generation: UInt32
    /// Whether a client is attached. If true at startup, the last run did not end cleanly, and `seenThrough` may be too
    /// low. In this case, clients may have seen every stored message.
    package var isAttached: Bool

    package init(
        cursor: UInt64, seenThrough: UInt64, acknowledged: [SequenceRange] = [], generation: UInt32 = 0,
        isAttached: Bool = false
    ) {
        self.cursor = cursor
        self.seenThrough = seenThrough
        self.acknowledged = acknowledged
        self.generation = generation
        self.isAttached = isAttached
    }
}

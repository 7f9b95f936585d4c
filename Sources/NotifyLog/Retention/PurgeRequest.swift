/// A request to delete stored messages, their copies for redelivery, and their dead letters, whatever the retention
/// rules say.
package struct PurgeRequest: Sendable {
    /// The patterns of names. The object of the filter is not considered.
    package var filter: SubscriptionFilter
    /// The sequence below which messages are deleted.
    package var before: UInt64

    package init(filter: SubscriptionFilter, before: UInt64) {
        self.filter = filter
        self.before = before
    }
}

/// The result of a purge.
package struct PurgeResult: Equatable, Sendable {
    /// The number and bytes of messages, dead letters included.
    package var messages: UInt64 = 0
    package var bytes: UInt64 = 0
    /// The number of deleted copies for redelivery.
    package var copies: UInt64 = 0
    /// The durable subscriptions that lost messages which they had not acknowledged.
    package var subscriptions: Set<DurableID> = []

    package init() {}

    /// Adds a part of the deletion.
    package mutating func add(_ deletion: Deletion) {
        for usage in deletion.usage.values {
            messages += UInt64(usage.messages)
            bytes += UInt64(usage.bytes)
        }
        copies += deletion.copies.values.reduce(0) { $0 + UInt64($1.count) }
        subscriptions.formUnion(deletion.losses.keys)
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire

/// The durable subscriptions as committed, and which of them match a name. Retention decides by them which messages are
/// read. Object filters and acknowledged ranges above a cursor do not count.
struct StoredSubscriptions: ~Copyable {
    struct Subscription {
        let id: DurableID
        let hasObject: Bool
        var progress: DurableProgress
        fileprivate let registration: UInt64
    }

    private var center = CenterCore(resolutionCacheBytes: 0, reservedFirstToken: ReservedNames.daemonToken)
    private var subscriptions: [Int32: Subscription] = [:]
    private var slots: [DurableID: Int32] = [:]
    private var nextSlot: Int32 = 0
    /// Changes when a subscription is created, because messages that were read may then be unread.
    private(set) var creations = 0

    /// Applies a committed change.
    mutating func apply(_ change: DurableChange) {
        switch change {
        case .create(let record): add(record)
        case .update(let id, let progress):
            if let slot = slots[id] { subscriptions[slot]?.progress = progress }
        case .setOwner, .forgetLoss: break
        case .remove(let id): remove(id)
        }
    }

    mutating func add(_ record: DurableRecord) {
        remove(record.id)
        let slot = nextSlot
        nextSlot += 1
        creations += 1
        let registration = center.add(patterns: record.filter.patterns, slot: slot)
        slots[record.id] = slot
        subscriptions[slot] = Subscription(
            id: record.id, hasObject: record.filter.object != nil, progress: record.progress,
            registration: registration)
    }

    private mutating func remove(_ id: DurableID) {
        guard let slot = slots.removeValue(forKey: id), let gone = subscriptions.removeValue(forKey: slot) else {
            return
        }
        _ = center.remove(gone.registration)
    }

    /// The lowest cursor of a subscription that matches the name; `UInt64.max` if none matches. Every message of the
    /// name up to this sequence is read.
    mutating func lowestCursor(for name: UnsafeRawBufferPointer) -> UInt64 {
        center.resolve(name: name, object: nil).registrations
            .reduce(.max) { min($0, subscriptions[$1.slot]?.progress.cursor ?? .max) }
    }

    /// The subscriptions that match the name and have not read all of its messages up to `sequence`.
    mutating func behind(_ sequence: UInt64, for name: UnsafeRawBufferPointer) -> [Subscription] {
        center.resolve(name: name, object: nil).registrations
            .compactMap { subscriptions[$0.slot] }.filter { $0.progress.cursor < sequence }
    }
}

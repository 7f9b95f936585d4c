import Algorithms
import NotifyCenter

/// The subscriber of a registration in the center, decoded from the registration's slot.
enum Subscriber: Equatable {
    /// The volatile subscriptions of a connection.
    case connection(ConnectionSlot)
    case durable(DurableSlot)

    /// Durable registrations have negative slots: the bitwise complement of the slot of the subscription.
    init(_ registration: Registration) {
        self =
            registration.slot >= 0
            ? .connection(ConnectionSlot(registration.slot)) : .durable(DurableSlot(~registration.slot))
    }

    var registrationSlot: Int32 {
        switch self {
        case .connection(let slot): slot.rawValue
        case .durable(let slot): ~slot.rawValue
        }
    }

    /// Volatile registrations precede durable ones in a resolution, so that the boundary is found by binary search.
    var priority: Int32 {
        switch self {
        case .connection: 1
        case .durable: 0
        }
    }
}

extension Resolution {
    /// The number of volatile registrations, which precede the durable ones.
    var volatileCount: Int {
        registrations.partitioningIndex { $0.slot < 0 }
    }

    /// Whether the resolution contains the durable registration with this id.
    func reaches(durable registration: UInt64) -> Bool {
        let index = registrations.partitioningIndex { $0.slot < 0 && $0.id >= registration }
        return index < registrations.count && registrations[index].id == registration
    }
}

extension Registration {
    /// The connection of a volatile registration.
    var connection: ConnectionSlot { ConnectionSlot(slot) }
    /// The subscription of a durable registration.
    var durable: DurableSlot { DurableSlot(~slot) }
}

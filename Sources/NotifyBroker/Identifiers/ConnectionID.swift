import NotifyCenter

/// The slot of a connection, valid while the connection is open.
package struct ConnectionSlot: Hashable, Comparable, Sendable {
    package let rawValue: Int32

    package init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    package var index: Int { Int(rawValue) }

    package static func < (left: ConnectionSlot, right: ConnectionSlot) -> Bool { left.rawValue < right.rawValue }
}

/// Identifies a connection. A later connection in the same slot has a different generation.
package struct ConnectionID: Hashable, Sendable {
    package let slot: ConnectionSlot
    package let generation: UInt32

    package init(slot: ConnectionSlot, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }
}

extension ConnectionID: SlotID {
    package var index: Int { slot.index }

    package init(index: Int, generation: UInt32) {
        self.init(slot: ConnectionSlot(Int32(index)), generation: generation)
    }
}

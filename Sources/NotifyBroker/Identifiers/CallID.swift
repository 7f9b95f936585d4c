import NotifyCenter

/// Identifies an open call: a slot and a generation, so that a late response does not reach a later call in the slot.
struct CallID: Hashable {
    let slot: Int32
    let generation: UInt32

    /// The number by which servers refer to the call.
    var number: UInt64 { UInt64(generation) << 32 | UInt64(UInt32(bitPattern: slot)) }

    init(slot: Int32, generation: UInt32) {
        self.slot = slot
        self.generation = generation
    }

    init(number: UInt64) {
        slot = Int32(bitPattern: UInt32(truncatingIfNeeded: number))
        generation = UInt32(number >> 32)
    }
}

extension CallID: SlotID {
    var index: Int { Int(slot) }

    init(index: Int, generation: UInt32) {
        self.init(slot: Int32(index), generation: generation)
    }
}

/// Values in numbered places. A freed place is used again under a new generation.
struct SlotTable<Value> {
    private var values: ContiguousArray<Value?> = []
    private var generations: ContiguousArray<UInt32> = []
    private var free: [Int32] = []

    var count: Int { values.count - free.count }

    /// The places in use, lowest first.
    var slots: [Int] { values.indices.filter { values[$0] != nil } }

    mutating func insert(_ make: (ConnectionID) -> Value) -> ConnectionID {
        let slot = free.popLast() ?? Int32(values.count)
        if Int(slot) == values.count {
            values.append(nil)
            generations.append(0)
        }
        let id = ConnectionID(slot: slot, generation: generations[Int(slot)])
        values[Int(slot)] = make(id)
        return id
    }

    mutating func remove(_ slot: Int) {
        guard values[slot] != nil else { return }
        values[slot] = nil
        generations[slot] &+= 1
        free.append(Int32(slot))
    }

    func contains(_ id: ConnectionID) -> Bool {
        let slot = Int(id.slot)
        return values.indices.contains(slot) && generations[slot] == id.generation && values[slot] != nil
    }

    func isUsed(_ slot: Int) -> Bool {
        values.indices.contains(slot) && values[slot] != nil
    }

    /// The value in a place that is in use.
    subscript(slot: Int) -> Value {
        get {
            guard let value = values[slot] else { preconditionFailure("slot \(slot) is free") }
            return value
        }
        _modify {
            guard values[slot] != nil else { preconditionFailure("slot \(slot) is free") }
            yield &values[slot]!  // Checked on the line before.
        }
    }
}

/// Values in numbered places. A freed place is used again under a new generation.
struct SlotTable<Value> {
    private var values: ContiguousArray<Value> = []
    private var areUsed: ContiguousArray<Bool> = []
    private var generations: ContiguousArray<UInt32> = []
    private var free: [Int32] = []

    var count: Int { values.count - free.count }

    /// The places in use, lowest first.
    var slots: [Int] { values.indices.filter { areUsed[$0] } }

    mutating func insert(_ make: (ConnectionID) -> Value) -> ConnectionID {
        if let slot = free.popLast() {
            let id = ConnectionID(slot: slot, generation: generations[Int(slot)])
            values[Int(slot)] = make(id)
            areUsed[Int(slot)] = true
            return id
        }
        let id = ConnectionID(slot: Int32(values.count), generation: 0)
        values.append(make(id))
        areUsed.append(true)
        generations.append(0)
        return id
    }

    /// Frees a place. What was in it should hold nothing any more: it is kept until the place is used again.
    mutating func remove(_ slot: Int) {
        guard areUsed[slot] else { return }
        areUsed[slot] = false
        generations[slot] &+= 1
        free.append(Int32(slot))
    }

    func contains(_ id: ConnectionID) -> Bool {
        isUsed(Int(id.slot)) && generations[Int(id.slot)] == id.generation
    }

    func isUsed(_ slot: Int) -> Bool {
        areUsed.indices.contains(slot) && areUsed[slot]
    }

    /// The value in a place that is in use.
    subscript(slot: Int) -> Value {
        get {
            precondition(areUsed[slot], "slot is free")
            return values[slot]
        }
        _modify {
            precondition(areUsed[slot], "slot is free")
            yield &values[slot]
        }
    }
}

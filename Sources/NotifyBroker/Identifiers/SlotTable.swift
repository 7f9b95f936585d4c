import NotifyCenter

/// A slot map for the message path: values in numbered slots. A freed slot is reused under a new generation.
///
/// The center's `SlotMap` stores optionals. Reading a connection from an optional copies the connection. This copy
/// made delivery to one subscriber several times slower. This table needs no optionals, because a value stays in place
/// when its slot is freed.
struct SlotTable<ID: SlotID, Value> {
    private var values: ContiguousArray<Value> = []
    private var areUsed: ContiguousArray<Bool> = []
    private var generations: ContiguousArray<UInt32> = []
    private var free: [Int32] = []

    var count: Int { values.count - free.count }

    /// The end of the range of slots, free ones included.
    var endIndex: Int { values.count }

    /// The slots in use, lowest first.
    var indices: [Int] { values.indices.filter { areUsed[$0] } }

    /// Inserts the value that `make` returns for the new id.
    mutating func insert(_ make: (ID) -> Value) -> ID {
        if let slot = free.popLast() {
            let index = Int(slot)
            let id = ID(index: index, generation: generations[index])
            values[index] = make(id)
            areUsed[index] = true
            return id
        }
        let id = ID(index: values.count, generation: 0)
        values.append(make(id))
        areUsed.append(true)
        generations.append(0)
        return id
    }

    /// Frees a slot. The value is kept until the slot is reused, so the value should hold no resources.
    mutating func remove(_ index: Int) {
        guard areUsed[index] else { return }
        areUsed[index] = false
        generations[index] &+= 1
        free.append(Int32(index))
    }

    @inline(__always)
    func contains(_ id: ID) -> Bool {
        isUsed(id.index) && generations[id.index] == id.generation
    }

    @inline(__always)
    func isUsed(_ index: Int) -> Bool {
        areUsed.indices.contains(index) && areUsed[index]
    }

    /// Calls `body` with the value in a used slot.
    @inline(__always)
    mutating func update<Result, Failure>(
        _ index: Int, _ body: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        precondition(areUsed[index], "slot is free")
        return try body(&values[index])
    }

    /// The value in a used slot.
    ///
    /// The accessors are always inlined, because a call of a coroutine allocates a frame on the heap. Accessors that
    /// yield through these accessors must be inlined, too. A throwing access is not inlined: use `update` instead.
    subscript(index: Int) -> Value {
        @inline(__always) _read {
            precondition(areUsed[index], "slot is free")
            yield values[index]
        }
        @inline(__always) _modify {
            precondition(areUsed[index], "slot is free")
            yield &values[index]
        }
    }
}

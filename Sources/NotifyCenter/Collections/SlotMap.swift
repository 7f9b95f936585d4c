/// An identifier of one insertion into a ``SlotMap``. Separate types for different kinds of values prevent mixing up
/// identifiers.
@usableFromInline
package protocol SlotID: Hashable {
    /// The slot of the value.
    var index: Int { get }

    /// A number that differs between values that occupy the slot one after another.
    var generation: UInt32 { get }

    init(index: Int, generation: UInt32)
}

/// An identifier for maps whose values are accessed by slot index only.
@usableFromInline
package struct PlainSlotID: SlotID, Sendable, BitwiseCopyable {
    @usableFromInline package let index: Int
    @usableFromInline package let generation: UInt32

    @inlinable
    package init(index: Int, generation: UInt32) {
        self.index = index
        self.generation = generation
    }
}

/// A slot map: values in numbered slots, with insertion, removal and access in constant time. Vacant slots are reused,
/// last vacated first. The memory is released when the last value is removed.
///
/// An identifier finds only the value that was inserted with it, never a later value in the same slot: each of 2^32
/// consecutive insertions has its own generation. An index alone is sufficient if it is discarded together with the
/// value. Not thread-safe.
///
/// ```swift
/// var connections = SlotMap<ConnectionID, Connection>()
/// let id = connections.insert { Connection(id: $0) }
/// connections[id.index].isGreeted = true
/// connections.contains(id)  // true
/// connections.remove(id)
/// ```
// Without `@usableFromInline` on the type, other modules ignore `@inlinable`: every access would be an unspecialized
// call, which looks up metadata and allocates.
@usableFromInline
package struct SlotMap<ID: SlotID, Value> {
    @usableFromInline
    struct Slot {
        @usableFromInline var value: Value?
        /// The generation of the value, or of the last one if the slot is vacant.
        @usableFromInline var generation: UInt32

        @inlinable
        init(value: consuming Value, generation: UInt32) {
            self.value = consume value
            self.generation = generation
        }
    }

    @usableFromInline var slots: ContiguousArray<Slot> = []
    @usableFromInline var vacant: ContiguousArray<Int32> = []
    /// The generation of the next insertion. Counted for the whole map, so that slots need not be kept for their
    /// generations.
    @usableFromInline var nextGeneration: UInt32 = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { slots.count &- vacant.count }

    @inlinable
    package var isEmpty: Bool { count == 0 }

    /// The identifier of the next insertion, for a value that stores its own identifier.
    @inlinable
    package var nextID: ID {
        ID(index: vacant.last.map { Int($0) } ?? slots.count, generation: nextGeneration)
    }

    /// Inserts a value.
    @inlinable
    @discardableResult
    package mutating func insert(_ value: consuming Value) -> ID {
        let id = nextID
        nextGeneration &+= 1
        let slot = Slot(value: value, generation: id.generation)
        if vacant.popLast() == nil { slots.append(slot) } else { slots[id.index] = slot }
        return id
    }

    /// Inserts the value that a closure makes for its identifier.
    @inlinable
    @discardableResult
    package mutating func insert(_ make: (ID) throws -> Value) rethrows -> ID {
        insert(try make(nextID))
    }

    /// Removes the value that was inserted with an identifier.
    ///
    /// - Returns: The value, or nil if it has already been removed.
    @inlinable
    @discardableResult
    package mutating func remove(_ id: ID) -> Value? {
        contains(id) ? remove(at: id.index) : nil
    }

    /// Removes the value in a slot.
    ///
    /// - Returns: The value, or nil if the slot is vacant.
    @inlinable
    @discardableResult
    package mutating func remove(at index: Int) -> Value? {
        guard isUsed(index) else { return nil }
        let value = slots[index].value.take()
        vacant.append(Int32(index))
        if vacant.count == slots.count { removeAll() }
        return value
    }

    /// Removes all values and releases the memory.
    @inlinable
    package mutating func removeAll() {
        slots = []
        vacant = []
    }

    /// Whether the value that was inserted with an identifier has not been removed.
    @inlinable
    package func contains(_ id: ID) -> Bool {
        isUsed(id.index) && slots[id.index].generation == id.generation
    }

    /// Whether a slot has a value. Any index is allowed.
    @inlinable
    package func isUsed(_ index: Int) -> Bool {
        index >= 0 && index < slots.count && slots[index].value != nil
    }

    /// The value that was inserted with an identifier, or nil if it has been removed.
    @inlinable
    package subscript(id: ID) -> Value? {
        contains(id) ? slots[id.index].value : nil
    }

    /// The value in a slot, or nil if the slot is vacant. Any index is allowed.
    @inlinable
    package func value(at index: Int) -> Value? {
        isUsed(index) ? slots[index].value : nil
    }

    /// The identifier of the value in a slot, or nil if the slot is vacant.
    @inlinable
    package func id(at index: Int) -> ID? {
        isUsed(index) ? ID(index: index, generation: slots[index].generation) : nil
    }

    /// The value in a slot, read and modified in place.
    ///
    /// Mark accessors that use this subscript `@inline(__always)`: a coroutine that is not inlined allocates its frame
    /// on the heap.
    ///
    /// - Precondition: The slot has a value.
    @inlinable
    package subscript(index: Int) -> Value {
        @inline(__always) _read {
            precondition(slots[index].value != nil, "the slot is vacant")
            // Not nil: checked in the line above. Taking the value out and putting it back would copy it twice.
            // swift-format-ignore: NeverForceUnwrap
            yield slots[index].value!
        }
        @inline(__always) _modify {
            precondition(slots[index].value != nil, "the slot is vacant")
            // Not nil: checked in the line above. Taking the value out and putting it back would copy it twice.
            // swift-format-ignore: NeverForceUnwrap
            yield &slots[index].value!
        }
    }

    /// The slots that hold a value, in ascending order.
    @inlinable
    package var indices: some Sequence<Int> {
        slots.indices.lazy.filter { slots[$0].value != nil }
    }

    /// The values in ascending order of their slots.
    @inlinable
    package var values: some Sequence<Value> {
        slots.lazy.compactMap(\.value)
    }
}

extension SlotMap: Sendable where Value: Sendable {}
extension SlotMap.Slot: Sendable where Value: Sendable {}

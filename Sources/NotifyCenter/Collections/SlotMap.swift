/// Identifies one insertion into a ``SlotMap``. A type of its own for each kind of value keeps identifiers from being mixed up.
@usableFromInline
package protocol SlotID: Hashable {
    /// The slot that the value is in.
    var index: Int { get }

    /// Differs between the values that occupy the slot one after another.
    var generation: UInt32 { get }

    init(index: Int, generation: UInt32)
}

/// The identifier for maps that are used by slot index alone.
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

/// Values in numbered slots, with insertion, removal and access in constant time. Vacant slots are used again, last vacated
/// first; when the last value is removed, the memory is released.
///
/// An identifier finds the value that was inserted under it, and never one that took the slot later: each of 2^32 successive
/// insertions has a generation of its own. An index alone is enough where it is dropped together with the value. Not
/// thread-safe.
///
/// ```swift
/// var connections = SlotMap<ConnectionID, Connection>()
/// let id = connections.insert { Connection(id: $0) }
/// connections[id.index].isGreeted = true
/// connections.contains(id)  // true
/// connections.remove(id)
/// ```
// Without `@usableFromInline` on the type, other modules take no notice of `@inlinable`: every access would be an unspecialized
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
    /// Counted for the whole map, so that it need not be kept for slots that are released.
    @usableFromInline var nextGeneration: UInt32 = 0

    @inlinable
    package init() {}

    @inlinable
    package var count: Int { slots.count &- vacant.count }

    @inlinable
    package var isEmpty: Bool { count == 0 }

    /// The identifier of the next insertion, for a value that has to know it.
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

    /// Inserts the value that is made for an identifier.
    @inlinable
    @discardableResult
    package mutating func insert(_ make: (ID) throws -> Value) rethrows -> ID {
        insert(try make(nextID))
    }

    /// Removes the value that was inserted under an identifier.
    ///
    /// - Returns: The value, or nil if it has been removed before.
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

    /// Whether the value that was inserted under an identifier has not been removed.
    @inlinable
    package func contains(_ id: ID) -> Bool {
        isUsed(id.index) && slots[id.index].generation == id.generation
    }

    /// Whether there is a value in a slot. Any index may be asked for.
    @inlinable
    package func isUsed(_ index: Int) -> Bool {
        index >= 0 && index < slots.count && slots[index].value != nil
    }

    /// The value that was inserted under an identifier, or nil if it has been removed.
    @inlinable
    package subscript(id: ID) -> Value? {
        contains(id) ? slots[id.index].value : nil
    }

    /// The value in a slot, or nil if the slot is vacant. Any index may be asked for.
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
    /// Accessors around it are best inlined always: a coroutine that is called allocates its frame on the heap.
    ///
    /// - Precondition: There is a value in the slot.
    @inlinable
    package subscript(index: Int) -> Value {
        @inline(__always) _read {
            precondition(slots[index].value != nil, "the slot is vacant")
            // Not nil: checked in the line above. To take the value out and put it back would copy it twice.
            // swift-format-ignore: NeverForceUnwrap
            yield slots[index].value!
        }
        @inline(__always) _modify {
            precondition(slots[index].value != nil, "the slot is vacant")
            // Not nil: checked in the line above. To take the value out and put it back would copy it twice.
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

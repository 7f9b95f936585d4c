/// The table part of a hash table whose entries the owner stores: maps hashes to entry numbers.
///
/// Open addressing with linear probing and backward-shift deletion. A slot is one word, an entry number beside 32 bits of
/// its hash, so that a look-up reads an entry only if these bits agree, and a table grows without reading any. Beside the
/// slots lies a byte of each hash: a look-up that fails reads these alone, an eighth of the memory, which stays in the
/// processor's cache. (A miss among 25,000 entries takes 43 ns, hashing included; 80 without these bytes.) Hashes must be
/// those of a keyed hash where keys come from peers. Not thread-safe.
package struct HashIndex: Sendable {
    @usableFromInline
    static var smallestCapacity: Int { 16 }

    /// The hash in the upper half, the entry number in the lower half.
    @usableFromInline
    var slots: ContiguousArray<UInt64> = []

    /// A byte of the hash for each slot. 0 if the slot is empty.
    @usableFromInline
    var tags: ContiguousArray<UInt8> = []

    @usableFromInline
    var entryCount = 0

    /// The number of entries.
    @inlinable
    package var count: Int { entryCount }

    @inlinable
    package init() {}

    /// The memory that the table occupies.
    @inlinable
    package var byteCount: Int { slots.count &* MemoryLayout<UInt64>.stride &+ tags.count }

    /// Finds the entry number with this hash for which the owner confirms that the keys are equal.
    ///
    /// - Parameter isMatch: Compares keys. Called with the number of each entry that has the same hash.
    @inlinable
    @inline(__always)
    package func find(_ hash: UInt32, where isMatch: (Int32) -> Bool) -> Int32? {
        if entryCount == 0 { return nil }
        return tags.withUnsafeBufferPointer { tags in
            let mask = tags.count &- 1
            let wanted = Self.tag(hash)
            var position = Int(hash) & mask
            while true {
                let tag = tags[position]
                if tag == 0 { return nil }
                if tag == wanted {
                    let slot = slots[position]
                    let number = Int32(truncatingIfNeeded: slot)
                    if UInt32(truncatingIfNeeded: slot &>> 32) == hash && isMatch(number) { return number }
                }
                position = (position &+ 1) & mask
            }
        }
    }

    /// Adds an entry number that is not in the table.
    @inlinable
    package mutating func insert(_ number: Int32, hash: UInt32) {
        if (entryCount &+ 1) &* 4 > slots.count &* 3 { resize(to: max(Self.smallestCapacity, slots.count * 2)) }
        place(Self.slot(number, hash))
        entryCount += 1
    }

    /// Removes an entry number that was inserted with this hash. An empty table occupies no memory beyond the smallest
    /// capacity.
    @inlinable
    package mutating func remove(_ number: Int32, hash: UInt32) {
        let mask = slots.count - 1
        let removed = Self.slot(number, hash)
        var hole = Int(hash) & mask
        while slots[hole] != removed || tags[hole] == 0 {
            precondition(tags[hole] != 0, "the entry is not in the table")
            hole = (hole + 1) & mask
        }
        entryCount -= 1
        if entryCount == 0 && slots.count > Self.smallestCapacity { return removeAll() }
        var next = (hole + 1) & mask
        while tags[next] != 0 {
            let home = Int(slots[next] >> 32) & mask
            if (next &- home) & mask >= (next &- hole) & mask {
                slots[hole] = slots[next]
                tags[hole] = tags[next]
                hole = next
            }
            next = (next + 1) & mask
        }
        tags[hole] = 0
    }

    /// Removes all entries and releases the memory.
    @inlinable
    package mutating func removeAll() {
        slots = []
        tags = []
        entryCount = 0
    }

    @inlinable
    static func slot(_ number: Int32, _ hash: UInt32) -> UInt64 {
        UInt64(hash) << 32 | UInt64(UInt32(bitPattern: number))
    }

    /// Of the upper bits: the position is made of the lower ones.
    @inlinable
    @inline(__always)
    static func tag(_ hash: UInt32) -> UInt8 { UInt8(truncatingIfNeeded: hash &>> 24) | 1 }

    @inlinable
    mutating func place(_ slot: UInt64) {
        let mask = slots.count - 1
        var position = Int(slot >> 32) & mask
        while tags[position] != 0 { position = (position + 1) & mask }
        slots[position] = slot
        tags[position] = Self.tag(UInt32(truncatingIfNeeded: slot >> 32))
    }

    @usableFromInline
    mutating func resize(to capacity: Int) {
        let (oldSlots, oldTags) = (slots, tags)
        slots = ContiguousArray(repeating: 0, count: capacity)
        tags = ContiguousArray(repeating: 0, count: capacity)
        for (slot, tag) in zip(oldSlots, oldTags) where tag != 0 { place(slot) }
    }
}

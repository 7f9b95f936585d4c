/// The index of a hash table whose owner stores the entries: maps hashes to entry numbers.
///
/// Uses open addressing with linear probing and backward-shift deletion. A slot is one word: an entry number and 32
/// bits of the entry's hash. A look-up reads an entry only if these bits are equal, and growing the table reads no
/// entries. A second array has one byte of the hash for each slot. An unsuccessful look-up rarely reads more than this
/// array, which has an eighth of the size of the slots and stays in the processor's cache. (A miss among 25,000 entries
/// takes 43 ns including hashing; 80 ns without this array.) If keys come from peers, the hashes must come from a keyed
/// hash function. Not thread-safe.
package struct HashIndex: Sendable {
    @usableFromInline
    static var smallestCapacity: Int { 16 }

    /// The slots, each with a hash in the upper half and an entry number in the lower half.
    @usableFromInline
    var slots: ContiguousArray<UInt64> = []

    /// The tags: one byte of the hash for each slot, or 0 if the slot is empty.
    @usableFromInline
    var tags: ContiguousArray<UInt8> = []

    @usableFromInline
    var entryCount = 0

    /// The number of entries.
    @inlinable
    package var count: Int { entryCount }

    @inlinable
    package init() {}

    /// The memory of the table, in bytes.
    @inlinable
    package var byteCount: Int { slots.count &* MemoryLayout<UInt64>.stride &+ tags.count }

    /// Returns the number of the entry with this hash and an equal key, or nil.
    ///
    /// - Parameter isMatch: Compares the keys. Called with the number of each entry that has the same hash, until a
    ///   call returns true.
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

    /// Removes an entry number that was inserted with this hash. An empty table keeps at most the memory of the
    /// smallest capacity.
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

    /// A byte of the upper bits of a hash, because the lower bits determine the position. Never 0.
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
        slots = ContiguousArray(unsafeUninitializedCapacity: capacity) { slots, count in
            HugePages.request(for: UnsafeMutableRawBufferPointer(slots))
            slots.initialize(repeating: 0)
            count = capacity
        }
        tags = ContiguousArray(repeating: 0, count: capacity)
        for (slot, tag) in zip(oldSlots, oldTags) where tag != 0 { place(slot) }
    }
}

/// A hash table from byte strings, each within a scope, to numbers. A look-up does not need a `String`. Keys are stored
/// contiguously; in addition to its key, an entry takes 24 bytes, and 12 to 24 bytes in the index.
///
/// A scope is a number for the container of the bytes, such as a node of a trie. Callers pass the hash of the bytes
/// without the scope, so that a search in several scopes computes the hash only once. Entries are numbered from 0; the
/// numbers of removed entries are reused, last removed first. The memory is released when the last entry is removed.
/// Not thread-safe.
///
/// `@unchecked Sendable` because of the pointer to the keys: they belong to this value, which is noncopyable.
package struct ByteTable: ~Copyable, @unchecked Sendable {
    private struct Entry: BitwiseCopyable {
        var offset: Int
        /// The length of the key; -1 if the entry is vacant.
        var count: Int32
        var scope: Int32
        var value: Int32
        var hash: UInt32
    }

    private static let smallestCapacity = 256

    private var index = HashIndex()
    private var entries = Pool<Entry>()
    private var keys = UnsafeMutableRawBufferPointer(start: nil, count: 0)
    private var usedBytes = 0
    /// The number of used bytes that belong to removed entries.
    private var garbageBytes = 0

    package init() {}

    deinit { keys.deallocate() }

    package var count: Int { entries.count }

    /// The memory of the table, in bytes.
    package var byteCount: Int { index.byteCount + entries.byteCount + usedBytes }

    /// The part of ``byteCount`` that removed entries left vacant.
    package var vacantByteCount: Int { entries.vacantByteCount + garbageBytes }

    /// Returns the number of the entry with a key, or nil.
    @inline(__always)
    package func find(_ key: UnsafeRawBufferPointer, hash: UInt64, scope: Int32 = 0) -> Int32? {
        index.find(Self.mixed(hash, scope)) { number in
            let entry = entries[number]
            return entry.scope == scope && bytes(of: entry).hasSameBytes(as: key)
        }
    }

    /// Returns the value of a key, or nil.
    @inline(__always)
    package func value(of key: UnsafeRawBufferPointer, hash: UInt64, scope: Int32 = 0) -> Int32? {
        find(key, hash: hash, scope: scope).map { entries[$0].value }
    }

    /// The key of an entry. The buffer is valid until the table changes.
    @inline(__always)
    package func bytes(ofEntry number: Int32) -> UnsafeRawBufferPointer { bytes(of: entries[number]) }

    /// Adds a key that is not in the table.
    ///
    /// - Returns: The number of the entry.
    package mutating func insert(
        _ key: UnsafeRawBufferPointer, hash: UInt64, scope: Int32 = 0, value: Int32 = 0
    ) -> Int32 {
        if usedBytes + key.count > keys.count { makeRoom(for: key.count) }
        UnsafeMutableRawBufferPointer(rebasing: keys[usedBytes..<usedBytes + key.count]).copyMemory(from: key)
        let hash = Self.mixed(hash, scope)
        let number = entries.insert(
            Entry(offset: usedBytes, count: Int32(key.count), scope: scope, value: value, hash: hash))
        usedBytes += key.count
        index.insert(number, hash: hash)
        return number
    }

    package mutating func remove(entry number: Int32) {
        let entry = entries[number]
        index.remove(number, hash: entry.hash)
        entries[number].count = -1
        entries.remove(number)
        if entry.offset + Int(entry.count) == usedBytes {
            usedBytes = entry.offset
        } else {
            garbageBytes += Int(entry.count)
        }
        if entries.count == 0 {
            keys.deallocate()
            keys = .init(start: nil, count: 0)
            usedBytes = 0
            garbageBytes = 0
        }
    }

    /// Combines the hash of a key with its scope.
    @inline(__always)
    private static func mixed(_ hash: UInt64, _ scope: Int32) -> UInt32 {
        let mixed = hash &+ UInt64(truncatingIfNeeded: scope) &* 0x9E37_79B9_7F4A_7C15
        return UInt32(truncatingIfNeeded: mixed ^ mixed &>> 32)
    }

    @inline(__always)
    private func bytes(of entry: Entry) -> UnsafeRawBufferPointer {
        guard let base = keys.baseAddress else { return UnsafeRawBufferPointer(start: nil, count: 0) }
        return UnsafeRawBufferPointer(start: base + entry.offset, count: Int(entry.count))
    }

    /// Moves the keys to new memory, without those of removed entries. At least half of the memory remains free after
    /// `count` more bytes are added.
    private mutating func makeRoom(for count: Int) {
        let needed = usedBytes - garbageBytes + count
        let moved = UnsafeMutableRawBufferPointer.allocate(
            byteCount: max(Self.smallestCapacity, needed * 2), alignment: 1)
        var end = 0
        for number in 0..<Int32(entries.extent) where entries[number].count >= 0 {
            let key = bytes(of: entries[number])
            UnsafeMutableRawBufferPointer(rebasing: moved[end..<end + key.count]).copyMemory(from: key)
            entries[number].offset = end
            end += key.count
        }
        keys.deallocate()
        keys = moved
        usedBytes = end
        garbageBytes = 0
    }
}

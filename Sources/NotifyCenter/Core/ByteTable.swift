/// A hash table from (scope, bytes) to a number, looked up with bytes that somebody else owns. The scope is what the bytes
/// belong to: a node of the trie for a token, a place for an object filter.
///
/// Sendable is not checked because of the pointers to keys: they belong to this value, which can't be copied, and never
/// leave it other than for reading.
struct ByteTable: ~Copyable, @unchecked Sendable {
    private struct Entry: BitwiseCopyable {
        var hash: UInt64
        var bytes: UnsafeMutableRawPointer
        var length: Int32
        var scope: Int32
        var value: Int32
        var next: Int32
    }

    private static let smallestBucketCount = 16

    private var entries = Pool<Entry>()
    private var buckets = ContiguousArray<Int32>(repeating: -1, count: Self.smallestBucketCount)

    init() {}

    deinit {
        for first in buckets {
            var index = first
            while index >= 0 {
                let entry = entries[index]
                entry.bytes.deallocate()
                index = entry.next
            }
        }
    }

    var count: Int { entries.count }

    /// The number found for these bytes, whose hash the caller has.
    func find(_ bytes: UnsafeRawBufferPointer, hash: UInt64, scope: Int32 = 0) -> Int32? {
        let entry = entry(of: bytes, hash: Self.mixed(hash, scope), scope: scope)
        return entry >= 0 ? entries[entry].value : nil
    }

    /// Adds bytes that are not there yet and returns the entry, by which they can be read and removed.
    mutating func insert(_ bytes: UnsafeRawBufferPointer, hash: UInt64, scope: Int32 = 0, value: Int32) -> Int32 {
        if entries.count == buckets.count { resizeBuckets(to: buckets.count * 2) }
        let copy = UnsafeMutableRawPointer.allocate(byteCount: max(bytes.count, 1), alignment: 1)
        if let base = bytes.baseAddress { copy.copyMemory(from: base, byteCount: bytes.count) }
        let hash = Self.mixed(hash, scope)
        let bucket = bucket(of: hash)
        let entry = entries.insert(
            Entry(
                hash: hash, bytes: copy, length: Int32(bytes.count), scope: scope, value: value, next: buckets[bucket]))
        buckets[bucket] = entry
        return entry
    }

    /// The bytes of an entry, valid until it is removed.
    func bytes(ofEntry entry: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: entries[entry].bytes, count: Int(entries[entry].length))
    }

    /// The hash an entry of scope 0 was inserted with.
    func hash(ofEntry entry: Int32) -> UInt64 {
        entries[entry].hash
    }

    mutating func remove(entry: Int32) {
        let removed = entries[entry]
        let bucket = bucket(of: removed.hash)
        if buckets[bucket] == entry {
            buckets[bucket] = removed.next
        } else {
            var before = buckets[bucket]
            while entries[before].next != entry { before = entries[before].next }
            entries[before].next = removed.next
        }
        removed.bytes.deallocate()
        entries.remove(entry)
        if entries.count == 0 && buckets.count > Self.smallestBucketCount {
            buckets = ContiguousArray(repeating: -1, count: Self.smallestBucketCount)
        }
    }

    /// The scope goes in after the keyed hash, so that a token is hashed once however many nodes are asked for it.
    @inline(__always)
    private static func mixed(_ hash: UInt64, _ scope: Int32) -> UInt64 {
        hash &+ UInt64(truncatingIfNeeded: scope) &* 0x9E37_79B9_7F4A_7C15
    }

    @inline(__always)
    private func bucket(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (buckets.count &- 1)
    }

    @inline(__always)
    private func entry(of bytes: UnsafeRawBufferPointer, hash: UInt64, scope: Int32) -> Int32 {
        var index = buckets[bucket(of: hash)]
        while index >= 0 {
            let entry = entries[index]
            if entry.hash == hash && entry.scope == scope
                && bytes.hasSameBytes(as: UnsafeRawBufferPointer(start: entry.bytes, count: Int(entry.length)))
            {
                return index
            }
            index = entry.next
        }
        return -1
    }

    private mutating func resizeBuckets(to count: Int) {
        let old = buckets
        buckets = ContiguousArray(repeating: -1, count: count)
        for first in old {
            var index = first
            while index >= 0 {
                let next = entries[index].next
                let bucket = bucket(of: entries[index].hash)
                entries[index].next = buckets[bucket]
                buckets[bucket] = index
                index = next
            }
        }
    }
}

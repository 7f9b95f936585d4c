/// What names, with their objects, resolved to. Bounded: a clock hand drops what was not asked for since it last passed.
///
/// A look-up is one hash, one probe and one comparison of bytes. Entries of the same name are chained as well, so that a
/// change to an exact name finds what it touches; a change to a wildcard has to try all entries.
///
/// Sendable is not checked because of the pointers to keys: they belong to this value, which can't be copied, and never
/// leave it.
struct ResolutionCache: ~Copyable, @unchecked Sendable {
    private struct Entry {
        var hash: UInt64
        var nameHash: UInt64
        /// The bytes of the name, followed by those of the object.
        var key: UnsafeMutableRawPointer
        var nameLength: Int32
        /// -1 for a post without object.
        var objectLength: Int32
        var next: Int32
        var previousOfName: Int32
        var nextOfName: Int32
        var wasUsed: Bool
        /// Nothing in a vacant entry, whose key is not there either.
        var resolution: Resolution?

        var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: key, count: Int(nameLength)) }

        var object: UnsafeRawBufferPointer? {
            objectLength < 0 ? nil : UnsafeRawBufferPointer(start: key + Int(nameLength), count: Int(objectLength))
        }
    }

    private static let smallestBucketCount = 64

    private var entries: ContiguousArray<Entry> = []
    private var vacant: ContiguousArray<Int32> = []
    private var buckets = ContiguousArray<Int32>(repeating: -1, count: Self.smallestBucketCount)
    private var nameBuckets = ContiguousArray<Int32>(repeating: -1, count: Self.smallestBucketCount)
    private var hand = 0

    init() {}

    deinit {
        for entry in entries where entry.resolution != nil { entry.key.deallocate() }
    }

    var count: Int { entries.count - vacant.count }
}

// MARK: - Look-up

extension ResolutionCache {
    @inline(__always)
    mutating func find(
        hash: UInt64, name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Resolution? {
        let index = index(hash: hash, name: name, object: object)
        guard index >= 0 else { return nil }
        // Written only when it changes, so that a hot entry's cache line stays clean.
        if !entries[index].wasUsed { entries[index].wasUsed = true }
        return entries[index].resolution
    }

    @inline(__always)
    private func index(hash: UInt64, name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> Int {
        let objectLength = object?.count ?? -1
        var index = Int(buckets[Int(truncatingIfNeeded: hash) & (buckets.count &- 1)])
        while index >= 0 {
            if entries[index].hash == hash && Int(entries[index].nameLength) == name.count
                && Int(entries[index].objectLength) == objectLength && isKey(at: index, name, object)
            {
                return index
            }
            index = Int(entries[index].next)
        }
        return -1
    }

    @inline(__always)
    private func isKey(at index: Int, _ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer?) -> Bool {
        let key = UnsafeRawPointer(entries[index].key)
        if let base = name.baseAddress, !key.hasSameBytes(as: base, count: name.count) { return false }
        guard let object, let base = object.baseAddress else { return true }
        return (key + name.count).hasSameBytes(as: base, count: object.count)
    }
}

// MARK: - Filling

extension ResolutionCache {
    /// Keeps what was resolved for a name and object that are not there yet.
    mutating func insert(
        _ resolution: Resolution, hash: UInt64, nameHash: UInt64, name: UnsafeRawBufferPointer,
        object: UnsafeRawBufferPointer?, limit: Int
    ) {
        guard limit > 0 else { return }
        // The limit may have fallen by a lot. Two for one is soon there without a pause.
        for _ in 0..<2 where count >= limit { evictOne() }
        if count >= buckets.count { grow() }

        let objectCount = object?.count ?? 0
        let key = UnsafeMutableRawPointer.allocate(byteCount: max(name.count + objectCount, 1), alignment: 1)
        if let base = name.baseAddress { key.copyMemory(from: base, byteCount: name.count) }
        if let base = object?.baseAddress { (key + name.count).copyMemory(from: base, byteCount: objectCount) }
        let entry = Entry(
            hash: hash, nameHash: nameHash, key: key, nameLength: Int32(name.count),
            objectLength: object == nil ? -1 : Int32(objectCount), next: -1, previousOfName: -1, nextOfName: -1,
            wasUsed: false, resolution: resolution)
        if let index = vacant.popLast() {
            entries[Int(index)] = entry
            chain(Int(index))
        } else {
            entries.append(entry)
            chain(entries.count - 1)
        }
    }

    private mutating func chain(_ index: Int) {
        let bucket = bucket(of: entries[index].hash)
        entries[index].next = buckets[bucket]
        buckets[bucket] = Int32(index)

        let nameBucket = self.bucket(of: entries[index].nameHash)
        let first = nameBuckets[nameBucket]
        entries[index].previousOfName = -1
        entries[index].nextOfName = first
        if first >= 0 { entries[Int(first)].previousOfName = Int32(index) }
        nameBuckets[nameBucket] = Int32(index)
    }

    private func bucket(of hash: UInt64) -> Int {
        Int(truncatingIfNeeded: hash) & (buckets.count &- 1)
    }

    private mutating func grow() {
        let count = buckets.count * 2
        buckets = ContiguousArray(repeating: -1, count: count)
        nameBuckets = ContiguousArray(repeating: -1, count: count)
        for index in entries.indices where entries[index].resolution != nil { chain(index) }
    }
}

// MARK: - Dropping

extension ResolutionCache {
    /// Drops what an exact name resolved to: with the object, or with every object and none if that is nil.
    mutating func drop(name: UnsafeRawBufferPointer, nameHash: UInt64, object: UnsafeRawBufferPointer?, hash: UInt64) {
        if count == 0 { return }
        if object != nil {
            let index = index(hash: hash, name: name, object: object)
            if index >= 0 { remove(index) }
            return
        }
        var index = Int(nameBuckets[bucket(of: nameHash)])
        while index >= 0 {
            let next = Int(entries[index].nextOfName)
            if entries[index].nameHash == nameHash && entries[index].name.hasSameBytes(as: name) { remove(index) }
            index = next
        }
    }

    /// Drops what names that match resolved to: with the object, or with every object and none if that is nil.
    mutating func drop(matching pattern: NamePattern, object: UnsafeRawBufferPointer?) {
        if count == 0 { return }
        for index in entries.indices where entries[index].resolution != nil {
            if let object, entries[index].object?.hasSameBytes(as: object) != true { continue }
            if pattern.matches(utf8: entries[index].name) { remove(index) }
        }
    }

    private mutating func evictOne() {
        while count > 0 {
            if hand >= entries.count { hand = 0 }
            let index = hand
            hand += 1
            guard entries[index].resolution != nil else { continue }
            if entries[index].wasUsed {
                entries[index].wasUsed = false
            } else {
                remove(index)
                return
            }
        }
    }

    private mutating func remove(_ index: Int) {
        let removed = (entries[index].next, entries[index].previousOfName, entries[index].nextOfName)
        let bucket = bucket(of: entries[index].hash)
        if buckets[bucket] == index {
            buckets[bucket] = removed.0
        } else {
            var before = Int(buckets[bucket])
            while entries[before].next != index { before = Int(entries[before].next) }
            entries[before].next = removed.0
        }
        if removed.1 >= 0 {
            entries[Int(removed.1)].nextOfName = removed.2
        } else {
            nameBuckets[self.bucket(of: entries[index].nameHash)] = removed.2
        }
        if removed.2 >= 0 { entries[Int(removed.2)].previousOfName = removed.1 }
        entries[index].key.deallocate()
        entries[index].resolution = nil
        vacant.append(Int32(index))
    }
}

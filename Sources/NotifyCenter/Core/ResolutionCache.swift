/// What names, with their objects, resolved to. Bounded: a clock hand drops what was not asked for since it last passed.
///
/// A look-up is one hash, one probe and one comparison of bytes. Entries of the same name are chained as well, so that a
/// change to an exact name finds what it touches; a change to a wildcard has to try all entries.
///
/// Sendable is not checked because of the pointers to keys: they belong to this value, which can't be copied, and never
/// leave it.
struct ResolutionCache: ~Copyable, @unchecked Sendable {
    private struct Entry: BitwiseCopyable {
        let hash: UInt64
        let nameHash: UInt64
        /// The bytes of the name, followed by those of the object.
        let key: UnsafeMutableRawPointer
        let nameLength: Int32
        /// -1 for a post without object.
        let objectLength: Int32
        var next: Int32 = -1
        var previousOfName: Int32 = -1
        var nextOfName: Int32 = -1
        var wasUsed = false

        var name: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: key, count: Int(nameLength)) }

        var object: UnsafeRawBufferPointer? {
            objectLength < 0 ? nil : UnsafeRawBufferPointer(start: key + Int(nameLength), count: Int(objectLength))
        }
    }

    private static let smallestBucketCount = 64
    /// So often all entries are looked at for a change to a wildcard; then they are dropped at once. Somebody who makes or
    /// leaves thousands of such subscriptions holds nobody up.
    private static let scansUntilClearing = 32

    private var entries: ContiguousArray<Entry> = []
    /// By entry. Nothing for a vacant one, whose key is not there either. Not in the entries, so that those stay plain and
    /// looking at them counts no references.
    private var resolutions: ContiguousArray<Resolution?> = []
    private var vacant: ContiguousArray<Int32> = []
    private var buckets = ContiguousArray<Int32>(repeating: -1, count: Self.smallestBucketCount)
    private var nameBuckets = ContiguousArray<Int32>(repeating: -1, count: Self.smallestBucketCount)
    private var hand = 0
    private var scans = 0

    init() {}

    deinit {
        for index in entries.indices where resolutions[index] != nil { entries[index].key.deallocate() }
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
        return resolutions[index]
    }

    @inline(__always)
    private func index(hash: UInt64, name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> Int {
        let objectLength = object?.count ?? -1
        var index = Int(buckets[Int(truncatingIfNeeded: hash) & (buckets.count &- 1)])
        while index >= 0 {
            let entry = entries[index]
            if entry.hash == hash && Int(entry.nameLength) == name.count && Int(entry.objectLength) == objectLength
                && Self.isKey(entry.key, name, object)
            {
                return index
            }
            index = Int(entry.next)
        }
        return -1
    }

    @inline(__always)
    private static func isKey(
        _ key: UnsafeRawPointer, _ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer?
    ) -> Bool {
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
            objectLength: object == nil ? -1 : Int32(objectCount))
        if let index = vacant.popLast() {
            entries[Int(index)] = entry
            resolutions[Int(index)] = resolution
            chain(Int(index))
        } else {
            entries.append(entry)
            resolutions.append(resolution)
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
        for index in entries.indices where resolutions[index] != nil { chain(index) }
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
        scans += 1
        if scans > Self.scansUntilClearing { return removeAll() }
        for index in entries.indices where resolutions[index] != nil {
            if let object, entries[index].object?.hasSameBytes(as: object) != true { continue }
            if pattern.matches(utf8: entries[index].name) { remove(index) }
        }
    }

    mutating func removeAll() {
        for index in entries.indices where resolutions[index] != nil { entries[index].key.deallocate() }
        entries.removeAll()
        resolutions.removeAll()
        vacant.removeAll()
        buckets = ContiguousArray(repeating: -1, count: Self.smallestBucketCount)
        nameBuckets = buckets
        hand = 0
        scans = 0
    }

    private mutating func evictOne() {
        while count > 0 {
            if hand >= entries.count { hand = 0 }
            let index = hand
            hand += 1
            guard resolutions[index] != nil else { continue }
            if entries[index].wasUsed {
                entries[index].wasUsed = false
            } else {
                remove(index)
                return
            }
        }
    }

    private mutating func remove(_ index: Int) {
        let removed = entries[index]
        let bucket = bucket(of: removed.hash)
        if buckets[bucket] == index {
            buckets[bucket] = removed.next
        } else {
            var before = Int(buckets[bucket])
            while entries[before].next != index { before = Int(entries[before].next) }
            entries[before].next = removed.next
        }
        if removed.previousOfName >= 0 {
            entries[Int(removed.previousOfName)].nextOfName = removed.nextOfName
        } else {
            nameBuckets[self.bucket(of: removed.nameHash)] = removed.nextOfName
        }
        if removed.nextOfName >= 0 { entries[Int(removed.nextOfName)].previousOfName = removed.previousOfName }
        removed.key.deallocate()
        resolutions[index] = nil
        vacant.append(Int32(index))
    }
}

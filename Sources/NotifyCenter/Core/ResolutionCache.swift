/// A resolution found in the cache.
package struct CachedResolution {
    package let resolution: Resolution
    fileprivate let entry: Int32
    /// A number that the owner attaches to a cached resolution, such as a decision about the name. Initially 0, and
    /// lost when the resolution leaves the cache.
    package let tag: UInt16
}

/// A cache of resolutions by name and object, with a memory limit.
///
/// A hit takes one hash, one probe and one comparison of bytes. Every miss is cached while there is room. A full cache
/// admits one miss in 16 at random: a name that is used repeatedly is soon cached, while cycling through more names
/// than fit causes few evictions. Eviction follows the clock algorithm.
///
/// A change of a registration for an exact name removes the entry of this name and object. A change for a pattern is
/// recorded in a log; each entry is checked against the log when it is next used. A change for an exact name without an
/// object filter is also recorded, in a second log, because it affects the entries of the name with any object.
struct ResolutionCache: ~Copyable, Sendable {
    /// The number that stands for the empty resolution, which is not in `sets`.
    private static let emptySet: Int32 = 0

    /// The memory of an entry with a key of up to 40 bytes, including its share of the index.
    static let entryBytes = MemoryLayout<ResolutionCacheEntries.Entry>.stride + 16
    /// The maximum length of a cached key, in bytes. A valid name and a valid object have at most 510 bytes together.
    static let maximumKeyBytes = 1_024
    /// A full cache admits one miss in this many, on average.
    static let admissionInterval: UInt64 = 16
    private static let evictionsPerInsertion = 4
    private static let stepsPerEviction = 16

    private var entries = ResolutionCacheEntries()
    private var index = HashIndex()
    private var sets = ResolutionSets()
    private var empty = Resolution.empty
    private var longKeyBytes = 0
    private var countWithObject = 0
    private var patternChanges = ChangeLog()
    private var nameChanges = ChangeLog()
    private var hand = 0
    private var random: UInt64 = 0

    /// The generation of new resolutions.
    var generation: UInt64 { empty.generation }

    init() {}

    var count: Int { entries.count }

    /// The memory of the entries with their keys and resolutions, in bytes. A shared resolution is counted once.
    var byteCount: Int { entries.count * Self.entryBytes + longKeyBytes + sets.byteCount }
}

// MARK: - Look-up

extension ResolutionCache {
    @inline(__always)
    mutating func find(_ key: PostKey) -> CachedResolution? {
        guard let number = index.find(UInt32(truncatingIfNeeded: key.hash), where: { isKey($0, key) }) else {
            return nil
        }
        let entry = entries.pointer(number)
        if entry.pointee.patternVersion != patternChanges.version
            || (entry.pointee.nameVersion != nameChanges.version && key.object != nil)
        {
            guard revalidate(number, key) else { return nil }
        }
        // Written only if false, so that the cache line of a hot entry stays clean.
        if !entry.pointee.wasUsed { entry.pointee.wasUsed = true }
        return CachedResolution(
            resolution: resolution(entry.pointee.set), entry: number, tag: entry.pointee.tag)
    }

    func setTag(_ tag: UInt16, of cached: CachedResolution) {
        entries.pointer(cached.entry).pointee.tag = tag
    }

    @inline(__always)
    private func resolution(_ set: Int32) -> Resolution {
        set == Self.emptySet ? empty : sets[set - 1]
    }

    @inline(__always)
    private func isKey(_ number: Int32, _ key: PostKey) -> Bool {
        let entry = entries.pointer(number)
        guard Int(entry.pointee.nameCount) == key.name.count else { return false }
        let stored = entries.key(of: entry)
        if let base = key.name.baseAddress, !stored.hasSameBytes(as: base, count: key.name.count) { return false }
        guard let object = key.object else { return !entry.pointee.hasObject }
        guard entry.pointee.hasObject, Int(entry.pointee.objectCount) == object.count else { return false }
        guard let base = object.baseAddress else { return true }
        return (stored + key.name.count).hasSameBytes(as: base, count: object.count)
    }

    /// Checks an entry against the changes since its last use, and removes the entry if it may be out of date.
    ///
    /// - Returns: Whether the entry is valid.
    @inline(never)
    private mutating func revalidate(_ number: Int32, _ key: PostKey) -> Bool {
        let entry = entries.pointer(number)
        let isValid =
            patternChanges.isUnchanged(since: entry.pointee.patternVersion, name: key.name, object: key.object)
            && (key.object == nil
                || nameChanges.isUnchanged(since: entry.pointee.nameVersion, name: key.name, object: key.object))
        guard isValid else {
            remove(number)
            return false
        }
        entry.pointee.patternVersion = patternChanges.version
        entry.pointee.nameVersion = nameChanges.version
        return true
    }
}

// MARK: - Filling

extension ResolutionCache {
    /// Returns a resolution with these registrations, and caches it if there is room. The key must not be in the cache.
    ///
    /// - Parameters:
    ///   - registrations: The matching registrations, in order of delivery.
    ///   - limit: The most memory that the cache may occupy, in bytes.
    mutating func insert(
        _ registrations: UnsafeMutableBufferPointer<Registration>, for key: PostKey, limit: Int
    ) -> Resolution {
        if registrations.isEmpty {
            if makeRoom(for: key, setBytes: 0, limit: limit) { insert(Self.emptySet, key) }
            return empty
        }
        let hash = sets.hash(registrations)
        if let set = sets.find(registrations, hash: hash) {
            let resolution = sets[set]
            // Retained, so that the set remains even if `makeRoom` evicts its last entry.
            sets.retain(set)
            if makeRoom(for: key, setBytes: 0, limit: limit) {
                insert(set + 1, key)
            } else {
                sets.release(set)
            }
            return resolution
        }
        let resolution = Resolution(ContiguousArray(registrations), generation: generation)
        if makeRoom(for: key, setBytes: ResolutionSets.cost(of: resolution), limit: limit) {
            insert(sets.insert(resolution, hash: hash) + 1, key)
        }
        return resolution
    }

    private mutating func insert(_ set: Int32, _ key: PostKey) {
        let hash = UInt32(truncatingIfNeeded: key.hash)
        let entry = ResolutionCacheEntries.Entry(
            hash: hash, key: key, set: set, patternVersion: patternChanges.version, nameVersion: nameChanges.version)
        let number = entries.insert(entry, key: key)
        index.insert(number, hash: hash)
        longKeyBytes += Self.longKeyBytes(entry.keyCount)
        if key.object != nil { countWithObject += 1 }
    }

    private static func longKeyBytes(_ count: Int) -> Int {
        // Including the overhead of the allocator.
        count <= ResolutionCacheEntries.inlineKeyBytes ? 0 : count + 16
    }

    /// Evicts entries if there is no room for another one.
    ///
    /// - Returns: Whether there is room and the key may be cached.
    private mutating func makeRoom(for key: PostKey, setBytes: Int, limit: Int) -> Bool {
        let keyCount = key.name.count + (key.object?.count ?? 0)
        let needed = Self.entryBytes + Self.longKeyBytes(keyCount) + setBytes
        guard keyCount <= Self.maximumKeyBytes, needed <= limit else { return false }
        if byteCount + needed <= limit { return true }
        guard isAdmitted() else { return false }
        // Evicting several entries per insertion shrinks the cache incrementally after its limit was lowered.
        for _ in 0..<Self.evictionsPerInsertion where byteCount + needed > limit { evictOne() }
        return byteCount + needed <= limit
    }

    private mutating func isAdmitted() -> Bool {
        random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return random >> 32 % Self.admissionInterval == 0
    }
}

// MARK: - Invalidation

extension ResolutionCache {
    /// Invalidates the entries that are affected by a change of a registration for an exact name. A key with an object
    /// affects only its own entry. A key without an object affects all entries of the name.
    mutating func invalidate(_ key: PostKey) {
        if count == 0 { return }
        if let number = index.find(UInt32(truncatingIfNeeded: key.hash), where: { isKey($0, key) }) { remove(number) }
        if key.object == nil && countWithObject > 0
            && !nameChanges.append(.name(ContiguousArray(key.name)), object: nil)
        {
            removeAll()
        }
    }

    /// Invalidates the entries that are affected by a change of a registration for a pattern: those whose name matches
    /// and, if `object` is not nil, whose object is equal.
    mutating func invalidate(_ pattern: NamePattern, object: UnsafeRawBufferPointer?) {
        if count > 0 && !patternChanges.append(.pattern(pattern), object: object) { removeAll() }
    }

    /// Removes all entries and begins the next generation of resolutions.
    mutating func beginGeneration() {
        removeAll()
        empty = Resolution([], generation: generation + 1)
    }

    /// Removes all entries.
    mutating func removeAll() {
        entries.removeAll()
        index.removeAll()
        sets = ResolutionSets()
        longKeyBytes = 0
        countWithObject = 0
        patternChanges = ChangeLog()
        nameChanges = ChangeLog()
        hand = 0
    }

    /// Evicts the next entry, from the clock hand on, that was not used since the hand last passed it. After a limited
    /// number of steps, evicts the last entry visited.
    private mutating func evictOne() {
        var candidate: Int32 = -1
        for _ in 0..<min(Self.stepsPerEviction, entries.extent) {
            if hand >= entries.extent { hand = 0 }
            let number = Int32(hand)
            hand += 1
            let entry = entries.pointer(number)
            if entry.pointee.set < 0 { continue }
            candidate = number
            if !entry.pointee.wasUsed { break }
            entry.pointee.wasUsed = false
        }
        if candidate >= 0 { remove(candidate) }
    }

    private mutating func remove(_ number: Int32) {
        let entry = entries.pointer(number).pointee
        index.remove(number, hash: entry.hash)
        longKeyBytes -= Self.longKeyBytes(entry.keyCount)
        if entry.hasObject { countWithObject -= 1 }
        if entry.set != Self.emptySet { sets.release(entry.set - 1) }
        entries.remove(number)
    }
}

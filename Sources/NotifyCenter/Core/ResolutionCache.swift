/// The resolutions of names, with their objects, bounded by the memory that they occupy.
///
/// A hit is one hash, one probe and one comparison of bytes. While there is room, every miss is cached. A full cache admits
/// one miss in 16 at random, so that names that are used again get in, while a round of more names than fit neither evicts
/// those nor pays for evictions; a clock hand evicts what was not used since it last passed.
///
/// A change to an exact name removes the entry that it concerns. A change to a pattern is noted in a log instead, and entries
/// are checked against it when they are next used; so are those with objects after a change that concerns every object of
/// an exact name.
struct ResolutionCache: ~Copyable, Sendable {
    /// The resolution without registrations, which is not counted as a set.
    private static let emptySet: Int32 = 0

    /// What an entry costs with a key of up to 40 bytes: itself and its share of the index.
    static let entryBytes = MemoryLayout<ResolutionCacheEntries.Entry>.stride + 16
    /// Longer keys are not cached. Valid names and objects have 510 bytes together.
    static let maximumKeyBytes = 1_024
    /// A miss of a full cache is admitted with a probability of 1 in this many.
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

    /// The generation of the resolutions.
    var generation: UInt64 { empty.generation }

    init() {}

    var count: Int { entries.count }

    /// The memory that the entries occupy with their keys and their resolutions, shared ones counted once.
    var byteCount: Int { entries.count * Self.entryBytes + longKeyBytes + sets.byteCount }
}

// MARK: - Look-up

extension ResolutionCache {
    @inline(__always)
    mutating func find(_ key: PostKey) -> Resolution? {
        guard let number = index.find(UInt32(truncatingIfNeeded: key.hash), where: { isKey($0, key) }) else {
            return nil
        }
        let entry = entries.pointer(number)
        if entry.pointee.patternVersion != patternChanges.version
            || (entry.pointee.nameVersion != nameChanges.version && key.object != nil)
        {
            guard revalidate(number, key) else { return nil }
        }
        // Written only when it changes, so that a hot entry's cache line stays clean.
        if !entry.pointee.wasUsed { entry.pointee.wasUsed = true }
        return resolution(entry.pointee.set)
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

    /// Checks an entry against the changes since it was last used, and removes it if one concerns it.
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
    /// The resolution with these registrations, which is cached if there is room and the key is not there yet.
    ///
    /// - Parameters:
    ///   - registrations: In the order of delivery.
    ///   - limit: The most bytes that the cache may occupy.
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
            // The set must not be removed with its last entry while room is made.
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
        // With what an allocator adds.
        count <= ResolutionCacheEntries.inlineKeyBytes ? 0 : count + 16
    }

    /// Evicts entries if there is no room for another one.
    ///
    /// - Returns: Whether there is room now, and the key may be cached.
    private mutating func makeRoom(for key: PostKey, setBytes: Int, limit: Int) -> Bool {
        let keyCount = key.name.count + (key.object?.count ?? 0)
        let needed = Self.entryBytes + Self.longKeyBytes(keyCount) + setBytes
        guard keyCount <= Self.maximumKeyBytes, needed <= limit else { return false }
        if byteCount + needed <= limit { return true }
        guard isAdmitted() else { return false }
        // More than one, so that the cache shrinks step by step after the limit fell.
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
    /// Invalidates the resolutions that a registration for an exact name changes: those with its object, or with every
    /// object and none if that is nil.
    mutating func invalidate(_ key: PostKey) {
        if count == 0 { return }
        if let number = index.find(UInt32(truncatingIfNeeded: key.hash), where: { isKey($0, key) }) { remove(number) }
        if key.object == nil && countWithObject > 0
            && !nameChanges.append(.name(ContiguousArray(key.name)), object: nil)
        {
            removeAll()
        }
    }

    /// Invalidates the resolutions that a registration for a pattern changes: those with its object, or with every object
    /// and none if that is nil.
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

    /// Removes the first entry from the hand on that was not used since the hand last passed, or the last one that a few
    /// steps reach.
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

/// The core of a notification center: stores registrations, and resolves a post to the registrations that match it, in
/// order of delivery.
///
/// It calls no observers and holds no closures. The owner passes a number (`slot`) with each registration, and a
/// resolution contains the slots of the matching registrations. Not thread-safe. A ``Resolution`` is immutable, so
/// registrations may be added and removed while a post is in progress. ``contains(_:scope:)`` reports whether a
/// registration of the resolution is still in effect.
///
/// A post without an object matches registrations without an object filter. A post with an object also matches
/// registrations that filter for this object. Objects are compared by their bytes.
///
/// Each registration belongs to a scope. The work of matching a name with patterns is limited for each scope (see
/// ``maximumOverlap``). If each peer has its own scope, no peer's patterns can slow down the posts of all peers. An
/// owner that does not need this limit uses scope 0 only.
package struct CenterCore: ~Copyable, Sendable {
    /// Allowances in bytes, added to the limit of the cache: room for a resolution of each exact name, and for one
    /// resolution with all registrations.
    private static let cacheBytesPerName = 320
    private static let cacheBytesPerRegistration = 32
    /// The largest capacity, in registrations, that `gathered` keeps between uses. A larger buffer is released.
    private static let retainedCapacity = 1_024

    private let hash: KeyedHash
    private let cacheBytes: Int
    private var maximumCacheBytes = Int.max
    private let reservedFirstToken: String?
    /// The scopes by number. Scope 0 always exists.
    private var scopes = ScopeTable()
    private var lastSerial: UInt64 = 0
    private var cache = ResolutionCache()
    /// A reusable buffer: resolving a name does not allocate if a cached resolution has the same registrations.
    private var gathered = ReusableBuffer<Registration>()

    /// The work done so far, mainly by matching. The unit is the visit of a registration, about 20 ns. In matching, a
    /// visited node of the trie counts as 16 units. A removed node or link counts as 16 units, too.
    package private(set) var work = 0

    /// The number of ended registrations. While this number stays the same, all registrations of a resolution remain in
    /// effect.
    package private(set) var removalCount: UInt64 = 0

    /// - Parameters:
    ///   - resolutionCacheBytes: The memory limit of the cache of resolutions, in bytes, in addition to an allowance
    ///     for each exact name and each registration. 0 disables the cache.
    ///   - reservedFirstToken: Names with this first token do not match patterns that begin with a wildcard.
    ///   - maximumOverlap: The maximum work of matching a name with the patterns of one scope, in the unit of ``work``.
    ///     Enforced by ``subscribe(_:to:object:scope:isLimited:)``.
    package init(
        resolutionCacheBytes: Int = 2 << 20, reservedFirstToken: String? = nil, maximumOverlap: Int = .max
    ) {
        self.hash = .ofProcess
        self.cacheBytes = max(resolutionCacheBytes, 0)
        self.reservedFirstToken = reservedFirstToken
        self.maximumOverlap = maximumOverlap
        makeScope(0)
    }

    /// The maximum work of matching a name with the patterns of one scope, in the unit of ``work``.
    package private(set) var maximumOverlap: Int

    private mutating func makeScope(_ scope: Int) {
        while scopes.count <= scope {
            scopes.append(
                RegistrationIndex(
                    hash: hash, reservedFirstToken: reservedFirstToken, measuresOverlap: maximumOverlap < .max))
        }
    }

    package private(set) var registrationCount = 0

    /// The memory of the registrations of a scope, in bytes.
    package func byteCount(ofScope scope: Int) -> Int { scope < scopes.count ? scopes[scope].byteCount : 0 }

    /// The part of ``byteCount(ofScope:)`` that ended registrations left vacant, in bytes. New registrations reuse this
    /// memory before they allocate more.
    package func vacantByteCount(ofScope scope: Int) -> Int {
        scope < scopes.count ? scopes[scope].vacantByteCount : 0
    }

    /// The number of names, or pairs of name and object, whose resolution is cached.
    package var cachedResolutionCount: Int { cache.count }

    /// The memory of the cached resolutions with their names and objects, in bytes. Names that match the same
    /// registrations share a resolution.
    package var cachedResolutionBytes: Int { cache.byteCount }

    /// The number of values stored for all registrations, 0 if there are none.
    var footprint: Int {
        var sum = 0
        for scope in 0..<scopes.count { sum += scopes[scope].footprint }
        return sum
    }
}

// MARK: - Registrations

extension CenterCore {
    /// Adds a registration for all names that at least one of the patterns matches. A post reaches the registration
    /// once, however many patterns match.
    ///
    /// - Returns: The identifier of the registration. Identifiers increase and are never reused.
    package mutating func add(
        patterns: [NamePattern], object: String? = nil, priority: Int32 = 0, slot: Int32
    ) -> UInt64 {
        guard let object else { return add(patterns: patterns, objectBytes: nil, priority: priority, slot: slot) }
        return object.withUTF8Bytes { add(patterns: patterns, objectBytes: $0, priority: priority, slot: slot) }
    }

    private mutating func insert(priority: Int32, slot: Int32, scope: Int) -> UInt64 {
        makeScope(scope)
        lastSerial += 1
        registrationCount += 1
        return scopes[scope].insert(priority: priority, slot: slot, serial: lastSerial)
    }

    /// Adds a registration for one name. The name is not validated and may be any string.
    package mutating func addExact(
        name: String, object: String? = nil, priority: Int32 = 0, slot: Int32
    ) -> UInt64 {
        let name = NotificationName(unchecked: name)
        guard let object else { return add(name: name, objectBytes: nil, priority: priority, slot: slot) }
        return object.withUTF8Bytes { add(name: name, objectBytes: $0, priority: priority, slot: slot) }
    }

    /// Adds a registration for one name, which may be invalid.
    mutating func add(
        name: NotificationName, objectBytes object: UnsafeRawBufferPointer?, priority: Int32, slot: Int32
    ) -> UInt64 {
        let id = insert(priority: priority, slot: slot, scope: 0)
        name.withUTF8 { link(id, to: .name($0, hash: name.hash), object: object) }
        return id
    }

    /// Adds a registration for all names that at least one of the patterns matches. The object filter consists of
    /// bytes.
    mutating func add(
        patterns: [NamePattern], objectBytes object: UnsafeRawBufferPointer?, priority: Int32, slot: Int32
    ) -> UInt64 {
        let id = insert(priority: priority, slot: slot, scope: 0)
        for pattern in patterns {
            if pattern.isExact {
                pattern.withUTF8 { link(id, to: .name($0, hash: hash($0)), object: object) }
            } else {
                link(id, to: .pattern(pattern), object: object)
            }
        }
        return id
    }

    /// Adds a registration for every name except reserved ones.
    package mutating func addEveryName(object: String? = nil, priority: Int32 = 0, slot: Int32) -> UInt64 {
        add(patterns: [.everyName], object: object, priority: priority, slot: slot)
    }

    /// Ends a registration.
    ///
    /// - Returns: False if the registration has already ended.
    package mutating func remove(_ id: UInt64, scope: Int = 0) -> Bool {
        // The closure changes only `cache`, so it does not conflict with the exclusive access to `scopes`.
        let isRemoved = scopes[scope].remove(id) { cache.invalidate($0, object: $1, hash: hash) }
        guard isRemoved else { return false }
        removalCount += 1
        registrationCount -= 1
        return true
    }

    /// Ends a registration: no post reaches it any more. Removes only a limited number of its links, because a
    /// registration may have any number of links.
    ///
    /// - Parameter links: The maximum number of links to remove.
    /// - Returns: The links that may remain, for ``remove(_:of:)``; nil if all links were removed or the registration
    ///   had already ended.
    package mutating func end(_ id: UInt64, removing links: Int, scope: Int) -> EndedRegistration? {
        guard scopes[scope].contains(id) else { return nil }
        removalCount += 1
        registrationCount -= 1
        for _ in 0..<links where !unlinkOne(of: id, scope) {
            _ = scopes[scope].remove(id) { _, _ in }
            return nil
        }
        guard let record = scopes[scope].end(id) else { return nil }
        // Removing all entries is cheaper than finding those that each remaining pattern matches.
        cache.removeAll()
        return EndedRegistration(record: record, scope: scope)
    }

    /// Removes a limited number of the links of an ended registration.
    ///
    /// - Returns: Whether no links remain. If so, `ended` must not be used again.
    package mutating func remove(_ links: Int, of ended: EndedRegistration) -> Bool {
        let nodes = scopes[ended.scope].nodeCount
        let areAllRemoved = scopes[ended.scope].remove(links, ofEnded: ended.record)
        countRemoval(of: links, nodesBefore: nodes, ended.scope)
        return areAllRemoved
    }

    /// Whether a registration is in effect: it was added and has not ended.
    package func contains(_ id: UInt64, scope: Int = 0) -> Bool {
        scopes[scope].contains(id)
    }

    private mutating func link(
        _ id: UInt64, to subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?
    ) {
        scopes[0].link(id, to: subject, object: object)
        cache.invalidate(subject, object: object, hash: hash)
    }

    private mutating func unlinkOne(of id: UInt64, _ scope: Int) -> Bool {
        // The closure changes only `cache`, so it does not conflict with the exclusive access to `scopes`.
        scopes[scope].unlinkOne(of: id) { subject, object in cache.invalidate(subject, object: object, hash: hash)
        }
    }
}

// MARK: - Subscribers

/// The error thrown when too many patterns of one scope could match the same name.
package struct OverlapError: Error, Equatable {}

extension CenterCore {
    /// Adds a subscriber without subscriptions. A post reaches the subscriber once, however many of its subscriptions
    /// match.
    ///
    /// - Returns: The identifier of the registration. ``remove(_:scope:)`` ends the registration and all its
    ///   subscriptions.
    package mutating func addSubscriber(priority: Int32 = 0, slot: Int32, scope: Int) -> UInt64 {
        insert(priority: priority, slot: slot, scope: scope)
    }

    /// Adds a subscription to a subscriber, or adds patterns to any registration of a scope.
    ///
    /// - Parameter isLimited: Whether to enforce ``maximumOverlap``.
    /// - Returns: The links of the subscription, for ``unsubscribe(_:scope:)``.
    /// - Throws: ``OverlapError`` if matching one name could take more work than ``maximumOverlap``. In that case,
    ///   nothing is added.
    package mutating func subscribe(
        _ id: UInt64, to patterns: [NamePattern], object: String? = nil, scope: Int, isLimited: Bool = true
    ) throws(OverlapError) -> [SubscriptionLink] {
        let links =
            if let object {
                object.withUTF8Bytes { link(id, to: patterns, object: $0, scope) }
            } else {
                link(id, to: patterns, object: nil, scope)
            }
        if isLimited, scopes[scope].overlap > maximumOverlap {
            work &+= scopes[scope].tightenOverlap()
            if scopes[scope].overlap > maximumOverlap {
                unsubscribe(links, scope: scope)
                throw OverlapError()
            }
        }
        return links
    }

    /// Ends a subscription of a registered subscriber.
    package mutating func unsubscribe(_ links: [SubscriptionLink], scope: Int) {
        let nodes = scopes[scope].nodeCount
        for link in links {
            // The closure changes only `cache`, so it does not conflict with the exclusive access to `scopes`.
            scopes[scope].unlink(shared: link.number) { cache.invalidate($0, object: $1, hash: hash) }
        }
        countRemoval(of: links.count, nodesBefore: nodes, scope)
    }

    /// The pattern of a link, and the object that it filters for.
    package func filter(of link: SubscriptionLink, scope: Int) -> (pattern: String, object: String?) {
        scopes[scope].filter(of: link.number)
    }

    /// Adds the work of removing links, and of removing the nodes that became empty.
    private mutating func countRemoval(of links: Int, nodesBefore: Int, _ scope: Int) {
        work &+= NameTrie.work(ofNodes: nodesBefore - scopes[scope].nodeCount + links)
    }

    private mutating func link(
        _ id: UInt64, to patterns: [NamePattern], object: UnsafeRawBufferPointer?, _ scope: Int
    ) -> [SubscriptionLink] {
        patterns.compactMap { pattern in
            if pattern.isExact {
                pattern.withUTF8 { linkShared(id, to: .name($0, hash: hash($0)), object: object, scope) }
            } else {
                linkShared(id, to: .pattern(pattern), object: object, scope)
            }
        }
    }

    private mutating func linkShared(
        _ id: UInt64, to subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?, _ scope: Int
    ) -> SubscriptionLink? {
        guard let (link, isNew) = scopes[scope].linkShared(id, to: subject, object: object) else { return nil }
        if isNew { cache.invalidate(subject, object: object, hash: hash) }
        return SubscriptionLink(number: link)
    }
}

/// The remaining links of an ended registration.
package struct EndedRegistration: Sendable, BitwiseCopyable, Equatable {
    let record: Int32
    let scope: Int
}

/// The link between a subscriber and one pattern of a subscription.
package struct SubscriptionLink: Sendable, BitwiseCopyable {
    let number: Int32
}

// MARK: - Resolution

extension CenterCore {
    /// Resolves a post to the registrations that match it.
    ///
    /// - Parameters:
    ///   - name: A valid name, or any bytes if all registrations are for exact names.
    ///   - object: The object of the post, or nil.
    package mutating func resolve(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> Resolution {
        resolve(key(name, object), isFiltered: false) { _ in true }
    }

    /// Resolves a post to the registrations that match it and are permitted to receive it.
    ///
    /// The result is cached, and permissions are not checked again on a hit. Call ``dropResolutions()`` when the
    /// permission of a registration may have changed.
    ///
    /// - Parameters:
    ///   - name: A valid name, or any bytes if all registrations are for exact names.
    ///   - object: The object of the post, or nil.
    ///   - isPermitted: Returns whether a registration may receive posts of this name and object. Called only on a
    ///     miss, once for each matching registration, in order of delivery.
    package mutating func resolve(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?, where isPermitted: (Registration) -> Bool
    ) -> Resolution {
        resolve(key(name, object), isFiltered: true, isPermitted)
    }

    /// Resolves a post to the matching, permitted registrations after ``cachedResolution(of:)`` returned nil for the
    /// same key.
    package mutating func resolve(_ key: PostKey, where isPermitted: (Registration) -> Bool) -> Resolution {
        resolve(key, isFiltered: true, isPermitted)
    }

    /// The cached resolution of a post, or nil. On a hit, the name and object need no validation, because they were
    /// resolved before.
    package mutating func cachedResolution(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Resolution? {
        cache.find(key(name, object))?.resolution
    }

    /// The cached resolution of a post, or nil. On a hit, the name and object need no validation, because they were
    /// resolved before.
    package mutating func cachedResolution(of key: PostKey) -> CachedResolution? {
        cache.find(key)
    }

    /// Sets the ``CachedResolution/tag`` of a cached resolution.
    ///
    /// - Parameter cached: The last result of ``cachedResolution(of:)``.
    package mutating func setTag(_ tag: UInt16, of cached: CachedResolution) { cache.setTag(tag, of: cached) }

    /// The generation of new resolutions: the number of calls to ``dropResolutions()``.
    package var resolutionGeneration: UInt64 { cache.generation }

    /// Replaces ``maximumOverlap``. Existing subscriptions stay. The core must have been made with a limit.
    package mutating func limitOverlap(to limit: Int) {
        precondition(maximumOverlap < .max && limit < .max, "a core made without a limit has no overlap")
        maximumOverlap = limit
    }

    /// Limits the memory of the cache from now on. The limit includes the allowances for names and registrations. If
    /// the cache already exceeds the limit, it is emptied.
    package mutating func limitCache(toBytes limit: Int) {
        maximumCacheBytes = limit
        if cache.byteCount > limit { cache.removeAll() }
    }

    /// Empties the cache and begins the next generation of resolutions. Must be called after a change of permissions;
    /// changes of registrations do not need it.
    package mutating func dropResolutions() {
        cache.beginGeneration()
    }

    /// Returns the registrations that match a post, in order of delivery, without using the cache. For owners that have
    /// a cache of their own.
    mutating func gather(
        _ name: NotificationName, object: UnsafeRawBufferPointer?
    ) -> ContiguousArray<Registration> {
        name.withUTF8 { gather(name: $0, nameHash: name.hash, object: object) }
        Resolution.order(&gathered)
        defer { gathered.removeAll(keepingAtMost: Self.retainedCapacity) }
        return ContiguousArray(gathered.values)
    }

    private mutating func gather(
        name: UnsafeRawBufferPointer, nameHash: UInt64, object: UnsafeRawBufferPointer?
    ) {
        for scope in 0..<scopes.count {
            work &+= scopes[scope].gather(name: name, nameHash: nameHash, object: object, into: &gathered)
        }
    }

    /// The number of exact names that have registrations. A name counts once for each scope.
    var nameCount: Int {
        var sum = 0
        for scope in 0..<scopes.count { sum += scopes[scope].nameCount }
        return sum
    }

    @inline(__always)
    private func key(_ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer?) -> PostKey {
        let nameHash = hash(name)
        return PostKey(
            name: name, object: object, nameHash: nameHash, hash: object.map { hash(nameHash, then: $0) } ?? nameHash)
    }

    @inline(__always)
    private mutating func resolve(
        _ key: PostKey, isFiltered: Bool, _ isPermitted: (Registration) -> Bool
    ) -> Resolution {
        if let known = cache.find(key) { return known.resolution }
        gather(name: key.name, nameHash: key.nameHash, object: key.object)
        Resolution.order(&gathered)
        if isFiltered { gathered.keepAll(where: isPermitted) }
        defer { gathered.removeAll(keepingAtMost: Self.retainedCapacity) }
        return cache.insert(gathered.values, for: key, limit: cacheLimit)
    }

    private var cacheLimit: Int {
        if cacheBytes == 0 { return 0 }
        return min(
            maximumCacheBytes,
            cacheBytes + nameCount * Self.cacheBytesPerName + registrationCount * Self.cacheBytesPerRegistration)
    }
}

extension ResolutionCache {
    /// Invalidates the entries that are affected by adding or removing a registration for the subject.
    fileprivate mutating func invalidate(
        _ subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?, hash: KeyedHash
    ) {
        if count == 0 { return }
        switch subject {
        case .name(let name, let nameHash):
            let whole = object.map { hash(nameHash, then: $0) } ?? nameHash
            invalidate(PostKey(name: name, object: object, nameHash: nameHash, hash: whole))
        case .pattern(let pattern):
            invalidate(pattern, object: object)
        }
    }
}

/// The core of a notification center: the registrations, and which of them a post reaches in which order.
///
/// It calls no observers and holds no closures: its owner passes a number (`slot`) with each registration and receives the
/// numbers that a post reaches. Not thread-safe. A post in progress keeps a ``Resolution``, which never changes, so
/// registrations may be added and removed meanwhile; ``contains(_:scope:)`` reports whether one has been removed.
///
/// A post without object reaches registrations without object filter; one with an object also reaches those that filter
/// this object. Objects are equal if their bytes are.
///
/// Registrations belong to scopes, which a peer's owner may choose so that one peer can't make posts slow for all: the work of
/// matching patterns with a name is bounded for each scope (see ``maximumOverlap``). Where there is no need, all are in scope 0.
package struct CenterCore: ~Copyable, Sendable {
    /// Room for the resolution of each exact name, and for one that reaches every registration, whatever else is cached.
    private static let cacheBytesPerName = 320
    private static let cacheBytesPerRegistration = 32
    /// From how many registrations on the memory that one resolution was gathered in is released after use.
    private static let retainedCapacity = 1_024

    /// Registrations in an array: values that can't be copied can't be in one by themselves.
    ///
    /// `@unchecked Sendable`: a scope is only reachable through its core, which can't be copied, so that no two threads
    /// access it at once.
    private final class Scope: @unchecked Sendable {
        var index: RegistrationIndex

        init(_ index: consuming RegistrationIndex) {
            self.index = index
        }
    }

    private let hash: KeyedHash
    private let cacheBytes: Int
    private var maximumCacheBytes = Int.max
    private let reservedFirstToken: String?
    /// By number; there is always the first.
    private var scopes: ContiguousArray<Scope> = []
    private var lastSerial: UInt64 = 0
    private var cache = ResolutionCache()
    /// Kept, so that a resolution of registrations that others reach as well allocates nothing.
    private var gathered = ReusableBuffer<Registration>()

    /// The work that matching took so far, in registrations walked: about 20 ns each. A node of the trie counts as 16.
    package private(set) var work = 0

    /// The number of removals. Until it changes, everything in a resolution is still registered.
    package private(set) var removalCount: UInt64 = 0

    /// - Parameters:
    ///   - resolutionCacheBytes: The memory for cached resolutions, beyond an allowance for each exact name and each
    ///     registration. Nothing is cached if it is 0.
    ///   - reservedFirstToken: Names whose first token is this one are not matched by wildcards in first position.
    ///   - maximumOverlap: The most work, in registrations walked, that matching a name with the patterns of one scope may
    ///     take; ``subscribe(_:to:object:scope:isLimited:)`` keeps to it. A node of the trie counts as 16.
    package init(
        resolutionCacheBytes: Int = 2 << 20, reservedFirstToken: String? = nil, maximumOverlap: Int = .max
    ) {
        self.hash = .ofProcess
        self.cacheBytes = max(resolutionCacheBytes, 0)
        self.reservedFirstToken = reservedFirstToken
        self.maximumOverlap = maximumOverlap
        makeScope(0)
    }

    /// The limit of patterns in one scope that can match the same name.
    package let maximumOverlap: Int

    private mutating func makeScope(_ scope: Int) {
        while scopes.count <= scope {
            scopes.append(
                Scope(
                    RegistrationIndex(
                        hash: hash, reservedFirstToken: reservedFirstToken, measuresOverlap: maximumOverlap < .max)))
        }
    }

    package private(set) var registrationCount = 0

    /// The memory that the registrations of a scope occupy.
    package func byteCount(ofScope scope: Int) -> Int { scope < scopes.count ? scopes[scope].index.byteCount : 0 }

    /// What of ``byteCount(ofScope:)`` removed registrations left. It is used again before more memory is asked for.
    package func vacantByteCount(ofScope scope: Int) -> Int {
        scope < scopes.count ? scopes[scope].index.vacantByteCount : 0
    }

    /// The number of names, with their objects, whose resolutions are cached.
    package var cachedResolutionCount: Int { cache.count }

    /// The memory that the cached resolutions occupy with their names and objects. Names that reach the same registrations
    /// share a resolution.
    package var cachedResolutionBytes: Int { cache.byteCount }

    /// The number of values that are stored for all registrations together, 0 without any.
    var footprint: Int {
        var sum = 0
        for scope in 0..<scopes.count { sum += scopes[scope].index.footprint }
        return sum
    }
}

// MARK: - Registrations

extension CenterCore {
    /// Registers for all names that one of the patterns matches. A name that several of them match is delivered once.
    ///
    /// - Returns: The identity of the registration. Identities rise and are never used again.
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
        return scopes[scope].index.insert(priority: priority, slot: slot, serial: lastSerial)
    }

    /// Registers for one name, which may be any string.
    package mutating func addExact(
        name: String, object: String? = nil, priority: Int32 = 0, slot: Int32
    ) -> UInt64 {
        let name = NotificationName(unchecked: name)
        guard let object else { return add(name: name, objectBytes: nil, priority: priority, slot: slot) }
        return object.withUTF8Bytes { add(name: name, objectBytes: $0, priority: priority, slot: slot) }
    }

    /// Registers for one name, which may break the rules.
    mutating func add(
        name: NotificationName, objectBytes object: UnsafeRawBufferPointer?, priority: Int32, slot: Int32
    ) -> UInt64 {
        let id = insert(priority: priority, slot: slot, scope: 0)
        name.withUTF8 { link(id, to: .name($0, hash: name.hash), object: object) }
        return id
    }

    /// Registers for all names that one of the patterns matches, with the object as bytes.
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

    /// Registers for every name except reserved ones.
    package mutating func addEveryName(object: String? = nil, priority: Int32 = 0, slot: Int32) -> UInt64 {
        add(patterns: [.everyName], object: object, priority: priority, slot: slot)
    }

    /// Ends a registration.
    ///
    /// - Returns: False if it has ended before.
    package mutating func remove(_ id: UInt64, scope: Int = 0) -> Bool {
        guard scopes[scope].index.contains(id) else { return false }
        while unlinkOne(of: id, scope) {}
        removalCount += 1
        registrationCount -= 1
        return scopes[scope].index.remove(id)
    }

    /// Ends a registration, and removes at most so many of its links at once, as a registration may have any number of them.
    ///
    /// - Returns: What is left for ``remove(_:of:)``; nil if nothing is. No post reaches it any more.
    package mutating func end(_ id: UInt64, removing links: Int, scope: Int) -> EndedRegistration? {
        guard scopes[scope].index.contains(id) else { return nil }
        removalCount += 1
        registrationCount -= 1
        for _ in 0..<links where !unlinkOne(of: id, scope) {
            _ = scopes[scope].index.remove(id)
            return nil
        }
        guard let record = scopes[scope].index.end(id) else { return nil }
        // Cheaper than to look for what each of its patterns matches.
        cache.removeAll()
        return EndedRegistration(record: record, scope: scope)
    }

    /// Removes at most so many links of a registration that has ended.
    ///
    /// - Returns: Whether none is left. Then it must not be used again.
    package mutating func remove(_ links: Int, of ended: EndedRegistration) -> Bool {
        let nodes = scopes[ended.scope].index.nodeCount
        let isWhole = scopes[ended.scope].index.remove(links, ofEnded: ended.record)
        countRemoval(of: links, nodesBefore: nodes, ended.scope)
        return isWhole
    }

    /// Whether a registration has not been removed.
    package func contains(_ id: UInt64, scope: Int = 0) -> Bool {
        scopes[scope].index.contains(id)
    }

    private mutating func link(
        _ id: UInt64, to subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?
    ) {
        scopes[0].index.link(id, to: subject, object: object)
        cache.invalidate(subject, object: object, hash: hash)
    }

    private mutating func unlinkOne(of id: UInt64, _ scope: Int) -> Bool {
        // The bytes that are passed belong to the index; the cache is another field.
        scopes[scope].index.unlinkOne(of: id) { subject, object in cache.invalidate(subject, object: object, hash: hash)
        }
    }
}

// MARK: - Subscribers

/// Too many patterns of one scope can match the same name.
package struct OverlapError: Error, Equatable {}

extension CenterCore {
    /// Registers a subscriber that has no subscriptions yet. However many of them match, a post reaches it once.
    ///
    /// - Returns: The identity of the registration, which ``remove(_:scope:)`` ends with all its subscriptions.
    package mutating func addSubscriber(priority: Int32 = 0, slot: Int32, scope: Int) -> UInt64 {
        insert(priority: priority, slot: slot, scope: scope)
    }

    /// Adds a subscription to a subscriber, or patterns to any registration of a scope.
    ///
    /// - Parameter isLimited: Whether ``maximumOverlap`` holds.
    /// - Returns: What ``unsubscribe(_:scope:)`` is to be given.
    /// - Throws: ``OverlapError`` if more work than ``maximumOverlap`` could be needed for one name; nothing is added then.
    package mutating func subscribe(
        _ id: UInt64, to patterns: [NamePattern], object: String? = nil, scope: Int, isLimited: Bool = true
    ) throws(OverlapError) -> [SubscriptionLink] {
        let links =
            if let object {
                object.withUTF8Bytes { link(id, to: patterns, object: $0, scope) }
            } else {
                link(id, to: patterns, object: nil, scope)
            }
        if isLimited, scopes[scope].index.overlap > maximumOverlap {
            work &+= scopes[scope].index.tightenOverlap()
            if scopes[scope].index.overlap > maximumOverlap {
                unsubscribe(links, scope: scope)
                throw OverlapError()
            }
        }
        return links
    }

    /// Ends a subscription of a subscriber that is registered.
    package mutating func unsubscribe(_ links: [SubscriptionLink], scope: Int) {
        let nodes = scopes[scope].index.nodeCount
        for link in links {
            // The bytes that are passed belong to the index; the cache is another field.
            scopes[scope].index.unlink(shared: link.number) { cache.invalidate($0, object: $1, hash: hash) }
        }
        countRemoval(of: links.count, nodesBefore: nodes, scope)
    }

    /// Counts the work of removing links, and the nodes that no pattern needs any more.
    private mutating func countRemoval(of links: Int, nodesBefore: Int, _ scope: Int) {
        work &+= NameTrie.work(ofNodes: nodesBefore - scopes[scope].index.nodeCount + links)
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
        guard let (link, isNew) = scopes[scope].index.linkShared(id, to: subject, object: object) else { return nil }
        if isNew { cache.invalidate(subject, object: object, hash: hash) }
        return SubscriptionLink(number: link)
    }
}

/// What a registration left that has ended.
package struct EndedRegistration: Sendable, BitwiseCopyable, Equatable {
    let record: Int32
    let scope: Int
}

/// One pattern of a subscription.
package struct SubscriptionLink: Sendable, BitwiseCopyable {
    let number: Int32
}

// MARK: - Resolution

extension CenterCore {
    /// The registrations that a post reaches.
    ///
    /// - Parameters:
    ///   - name: A valid name, or any bytes where all names are exact.
    ///   - object: The object of the post, if it has one.
    package mutating func resolve(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?) -> Resolution {
        resolve(key(name, object), isFiltered: false) { _ in true }
    }

    /// The permitted registrations among those that a post reaches.
    ///
    /// The result is cached, so that decisions about rights cost nothing while it is. Call ``dropResolutions()`` when a
    /// decision could be another one now.
    ///
    /// - Parameters:
    ///   - name: A valid name, or any bytes where all names are exact.
    ///   - object: The object of the post, if it has one.
    ///   - isPermitted: Decides whether a registration may receive posts of this name and object. It is called only if the
    ///     result is not cached, once for each registration, in the order of delivery.
    package mutating func resolve(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?, where isPermitted: (Registration) -> Bool
    ) -> Resolution {
        resolve(key(name, object), isFiltered: true, isPermitted)
    }

    /// The permitted registrations among those that a post reaches, for a key that ``cachedResolution(of:)`` was asked for.
    package mutating func resolve(_ key: PostKey, where isPermitted: (Registration) -> Bool) -> Resolution {
        resolve(key, isFiltered: true, isPermitted)
    }

    /// The cached resolution of a post, if there is one. Its name and object were resolved before, so they need not be
    /// validated again.
    package mutating func cachedResolution(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Resolution? {
        cache.find(key(name, object))
    }

    /// The cached resolution of a post, if there is one. Its name and object were resolved before, so they need not be
    /// validated again.
    package mutating func cachedResolution(of key: PostKey) -> Resolution? {
        cache.find(key)
    }

    /// The generation of new resolutions: the number of calls of ``dropResolutions()``.
    package var resolutionGeneration: UInt64 { cache.generation }

    /// Caches at most so much from now on, whatever is registered. What is cached beyond it is dropped with all the rest.
    package mutating func limitCache(toBytes limit: Int) {
        maximumCacheBytes = limit
        if cache.byteCount > limit { cache.removeAll() }
    }

    /// Empties the cache and begins the next generation of resolutions. For changes of what permitted registrations were
    /// selected by; changes of registrations need no call.
    package mutating func dropResolutions() {
        cache.beginGeneration()
    }

    /// The registrations that a post of this name reaches, in the order of delivery, for an owner that caches them itself.
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
            work &+= scopes[scope].index.gather(name: name, nameHash: nameHash, object: object, into: &gathered)
        }
    }

    /// The number of names that are registered exactly.
    var nameCount: Int {
        var sum = 0
        for scope in 0..<scopes.count { sum += scopes[scope].index.nameCount }
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
        if let known = cache.find(key) { return known }
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
    /// Invalidates what a registration for the subject changes.
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

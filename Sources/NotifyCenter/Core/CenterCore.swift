/// The core of a notification center: the registrations, and which of them a post reaches in which order.
///
/// It calls no observers and holds no closures: its owner passes a number (`slot`) with each registration and receives the
/// numbers that a post reaches. Not thread-safe. A post in progress keeps a ``Resolution``, which never changes, so
/// registrations may be added and removed meanwhile; ``contains(_:)`` reports whether one has been removed.
///
/// A post without object reaches registrations without object filter; one with an object also reaches those that filter
/// this object. Objects are equal if their bytes are.
package struct CenterCore: ~Copyable, Sendable {
    /// Room for the resolution of each exact name, and for one that reaches every registration, whatever else is cached.
    private static let cacheBytesPerName = 320
    private static let cacheBytesPerRegistration = 32
    /// From how many registrations on the memory that one resolution was gathered in is released after use.
    private static let keptRegistrations = 1_024

    private let hash: KeyedHash
    private let cacheBytes: Int
    private var index: RegistrationIndex
    private var cache = ResolutionCache()
    /// Kept, so that a resolution of registrations that others reach as well allocates nothing.
    private var gathered = ReusableBuffer<Registration>()

    /// The number of removals. Until it changes, everything in a resolution is still registered.
    package private(set) var removalCount: UInt64 = 0

    /// - Parameters:
    ///   - resolutionCacheBytes: The memory for cached resolutions, beyond an allowance for each exact name and each
    ///     registration. Nothing is cached if it is 0.
    ///   - reservedFirstToken: Names whose first token is this one are not matched by wildcards in first position.
    package init(resolutionCacheBytes: Int = 2 << 20, reservedFirstToken: String? = nil) {
        self.hash = .ofProcess
        self.cacheBytes = max(resolutionCacheBytes, 0)
        self.index = RegistrationIndex(hash: hash, reservedFirstToken: reservedFirstToken)
    }

    package var registrationCount: Int { index.count }

    /// The number of names, with their objects, whose resolutions are cached.
    package var cachedResolutionCount: Int { cache.count }

    /// The memory that the cached resolutions occupy with their names and objects. Names that reach the same registrations
    /// share a resolution.
    package var cachedResolutionBytes: Int { cache.byteCount }

    /// The number of values that are stored for all registrations together, 0 without any.
    var footprint: Int { index.footprint }
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
        let id = index.insert(priority: priority, slot: slot)
        name.withUTF8 { link(id, to: .name($0, hash: name.hash), object: object) }
        return id
    }

    /// Registers for all names that one of the patterns matches, with the object as bytes.
    mutating func add(
        patterns: [NamePattern], objectBytes object: UnsafeRawBufferPointer?, priority: Int32, slot: Int32
    ) -> UInt64 {
        let id = index.insert(priority: priority, slot: slot)
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
    package mutating func remove(_ id: UInt64) -> Bool {
        guard index.contains(id) else { return false }
        while unlinkOne(of: id) {}
        removalCount += 1
        return index.remove(id)
    }

    /// Whether a registration has not been removed.
    package func contains(_ id: UInt64) -> Bool {
        index.contains(id)
    }

    private mutating func link(
        _ id: UInt64, to subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?
    ) {
        index.link(id, to: subject, object: object)
        cache.invalidate(subject, object: object, hash: hash)
    }

    private mutating func unlinkOne(of id: UInt64) -> Bool {
        // The bytes that are passed belong to the index; the cache is another field.
        index.unlinkOne(of: id) { subject, object in cache.invalidate(subject, object: object, hash: hash) }
    }
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

    /// Empties the cache and begins the next generation of resolutions. For changes of what permitted registrations were
    /// selected by; changes of registrations need no call.
    package mutating func dropResolutions() {
        cache.beginGeneration()
    }

    /// The registrations that a post of this name reaches, in the order of delivery, for an owner that caches them itself.
    mutating func gather(
        _ name: NotificationName, object: UnsafeRawBufferPointer?
    ) -> ContiguousArray<Registration> {
        name.withUTF8 { index.gather(name: $0, nameHash: name.hash, object: object, into: &gathered) }
        Resolution.order(&gathered)
        defer { gathered.removeAll(keepingAtMost: Self.keptRegistrations) }
        return ContiguousArray(gathered.values)
    }

    /// The number of names that are registered exactly.
    var nameCount: Int { index.nameCount }

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
        index.gather(name: key.name, nameHash: key.nameHash, object: key.object, into: &gathered)
        Resolution.order(&gathered)
        if isFiltered { gathered.keepAll(where: isPermitted) }
        defer { gathered.removeAll(keepingAtMost: Self.keptRegistrations) }
        return cache.insert(gathered.values, for: key, limit: cacheLimit)
    }

    private var cacheLimit: Int {
        if cacheBytes == 0 { return 0 }
        return cacheBytes + index.nameCount * Self.cacheBytesPerName + index.count * Self.cacheBytesPerRegistration
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

/// The heart of a notification center: who registered for what, and whom a post reaches, in which order.
///
/// It calls nobody and holds no closures; its owner hands it a number (`slot`) per registration and gets the numbers that a
/// post reaches. It is not thread-safe. A post in progress keeps a ``Resolution``, which never changes, so registrations may
/// come and go meanwhile; ``contains(_:)`` tells which of its registrations went.
///
/// A post without object reaches registrations without object filter; one with an object reaches those that filter this
/// object as well. Objects are equal if their bytes are.
package struct CenterCore: ~Copyable, Sendable {
    private let hash: KeyedHash
    private let cacheLimit: Int
    private var index: RegistrationIndex
    private var cache = ResolutionCache()
    /// The resolution without registrations of the current generation.
    private var empty = Resolution.empty

    /// Rises with every removal. While it stands still, everything in a resolution is still registered.
    package private(set) var removalCount: UInt64 = 0

    /// - Parameters:
    ///   - resolutionCacheLimit: How many resolutions are kept, beyond one for each name that is registered exactly.
    ///   - reservedFirstToken: Names whose first token is this one are not matched by wildcards in first position.
    package init(resolutionCacheLimit: Int = 16_384, reservedFirstToken: String? = nil) {
        self.hash = .ofProcess
        self.cacheLimit = resolutionCacheLimit
        self.index = RegistrationIndex(hash: hash, reservedFirstToken: reservedFirstToken)
    }

    package var registrationCount: Int { index.count }

    /// How many resolutions are kept at the moment.
    package var cachedResolutionCount: Int { cache.count }

    /// A measure of what the registrations take up, 0 without any.
    var footprint: Int { index.footprint }
}

// MARK: - Registrations

extension CenterCore {
    /// Registers for all names that one of the patterns matches. What several of them match comes once.
    ///
    /// - Returns: The identity of the registration. Identities rise and are never given again.
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

    /// Registers for every name, save those that are reserved.
    package mutating func addEveryName(object: String? = nil, priority: Int32 = 0, slot: Int32) -> UInt64 {
        add(patterns: [.everyName], object: object, priority: priority, slot: slot)
    }

    /// Ends a registration. Answers whether there was one.
    package mutating func remove(_ id: UInt64) -> Bool {
        guard index.contains(id) else { return false }
        while unlinkOne(of: id) {}
        removalCount += 1
        return index.remove(id)
    }

    /// Whether a registration has not ended.
    package func contains(_ id: UInt64) -> Bool {
        index.contains(id)
    }

    private mutating func link(
        _ id: UInt64, to subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?
    ) {
        index.link(id, to: subject, object: object)
        cache.drop(subject, object: object, hash: hash)
    }

    private mutating func unlinkOne(of id: UInt64) -> Bool {
        // The bytes that are passed belong to the index; the cache is another field.
        index.unlinkOne(of: id) { subject, object in cache.drop(subject, object: object, hash: hash) }
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
        resolve(name: name, object: object) { _ in true }
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
        let nameHash = hash(name)
        let hash = object.map { self.hash(nameHash, then: $0) } ?? nameHash
        if let known = cache.find(hash: hash, name: name, object: object) { return known }
        var registrations = Resolution.ordered(index.gather(name: name, nameHash: nameHash, object: object))
        registrations.removeAll { !isPermitted($0) }
        let resolution =
            registrations.isEmpty ? empty : Resolution(registrations, generation: resolutionGeneration)
        cache.insert(
            resolution, hash: hash, nameHash: nameHash, name: name, object: object,
            limit: max(cacheLimit, 0) + (cacheLimit > 0 ? index.nameCount : 0))
        return resolution
    }

    /// The generation of new resolutions: the number of calls of ``dropResolutions()``.
    package var resolutionGeneration: UInt64 { empty.generation }

    /// Empties the cache and begins the next generation of resolutions. For changes of what permitted registrations were
    /// selected by; changes of registrations need no call.
    package mutating func dropResolutions() {
        cache.removeAll()
        empty = Resolution([], generation: resolutionGeneration + 1)
    }

    /// The registrations that a post of this name reaches, for an owner that caches them itself.
    func gather(_ name: NotificationName, object: UnsafeRawBufferPointer?) -> Resolution {
        let registrations = name.withUTF8 { index.gather(name: $0, nameHash: name.hash, object: object) }
        return registrations.isEmpty ? .empty : Resolution(Resolution.ordered(registrations))
    }

    /// How many names are registered exactly.
    var nameCount: Int { index.nameCount }

    /// The cached resolution of a post, if there is one. Its name and object were resolved before, so they need not be
    /// validated again.
    package mutating func cachedResolution(
        name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer?
    ) -> Resolution? {
        let nameHash = hash(name)
        let hash = object.map { self.hash(nameHash, then: $0) } ?? nameHash
        return cache.find(hash: hash, name: name, object: object)
    }
}

extension ResolutionCache {
    /// Drops what a registration for the subject changes.
    fileprivate mutating func drop(
        _ subject: RegistrationIndex.Subject, object: UnsafeRawBufferPointer?, hash: KeyedHash
    ) {
        if count == 0 { return }
        switch subject {
        case .name(let name, let nameHash):
            let whole = object.map { hash(nameHash, then: $0) } ?? nameHash
            drop(name: name, nameHash: nameHash, object: object, hash: whole)
        case .pattern(let pattern):
            drop(matching: pattern, object: object)
        }
    }
}

import DequeModule
import NotifyCenter
import NotifyLog
import NotifyWire

/// The broker's registrations in the center, which resolves every message. Each connection with volatile subscriptions
/// has one registration, and each durable subscription has one.
///
/// A message is delivered to a connection once, however many of the connection's volatile subscriptions match. A
/// resolution contains only registrations that may receive the name, so a cached resolution needs no check of rights.
/// Each user has a scope in the center. The scope bounds the work of matching the user's patterns, and measures the
/// memory of the user's registrations.
struct Subscriptions: ~Copyable {
    private struct Scope {
        let number: Int
        var registrations = 0
    }

    private static let reducedCacheBytes = 256 << 10
    /// The maximum number of links removed in one step. A pattern has up to 32 tokens, so a step takes up to half a
    /// millisecond.
    private static let linksPerStep = 64

    private var center: CenterCore
    private var maximumCacheBytes: Int
    private var scopes: [UInt32: Scope] = [:]
    private var vacantScopes: [Int] = []
    private var scopeCount = 0
    private(set) var volatileCount = 0
    /// The last sequence posted before the latest replacement of a durable subscription's registration.
    private var replacedThrough: UInt64 = 0
    /// Ended registrations of which some links are not removed from the center yet.
    private var pendingRemovals: Deque<(ended: EndedRegistration, uid: UInt32)> = []

    /// - Parameter maximumOverlap: The maximum work of matching one name with the patterns of one user: 1 for each
    ///   visited registration, 16 for each visited node of the trie.
    /// - Parameter maximumCacheBytes: The maximum memory of cached resolutions.
    init(
        maximumOverlap: Int = BrokerConfiguration().patternOverlapPerUser,
        maximumCacheBytes: Int = BrokerConfiguration().cacheBytes
    ) {
        self.maximumCacheBytes = maximumCacheBytes
        center = CenterCore(reservedFirstToken: ReservedNames.daemonToken, maximumOverlap: maximumOverlap)
        center.limitCache(toBytes: maximumCacheBytes)
    }

    /// Replaces the limits, and ends a reduction of the cache by ``limitCache(isReduced:)``.
    mutating func limitsChanged(maximumOverlap: Int, maximumCacheBytes: Int) {
        self.maximumCacheBytes = maximumCacheBytes
        center.limitOverlap(to: maximumOverlap)
        center.limitCache(toBytes: maximumCacheBytes)
    }

    var registrationCount: Int { center.registrationCount }

    /// The memory of the user's registrations, in bytes.
    func byteCount(of uid: UInt32) -> Int {
        scopes[uid].map { center.byteCount(ofScope: $0.number) } ?? 0
    }

    /// The vacant part of ``byteCount(of:)``, in bytes. The center reuses it before it allocates more memory.
    func vacantByteCount(of uid: UInt32) -> Int {
        scopes[uid].map { center.vacantByteCount(ofScope: $0.number) } ?? 0
    }

    /// The total work of the center, mainly matching, in units of ``FairScheduler``.
    var work: Int { center.work }

    // MARK: Volatile subscriptions

    /// Adds a subscription to a connection.
    ///
    /// - Parameter registration: The connection's registration. Set by the connection's first subscription.
    /// - Returns: The links to pass to ``removeVolatile(_:uid:)``.
    /// - Throws: `limitReached` if too many of the user's patterns can match the same name.
    mutating func addVolatile(
        _ filter: SubscriptionFilter, to slot: ConnectionSlot, registration: inout UInt64?, uid: UInt32
    ) throws(WireError) -> [SubscriptionLink] {
        let id = registration ?? register(.connection(slot), uid: uid)
        registration = id
        let links = try subscribe(id, filter, uid: uid)
        volatileCount += 1
        return links
    }

    mutating func removeVolatile(_ links: [SubscriptionLink], uid: UInt32) {
        center.unsubscribe(links, scope: scope(of: uid))
        volatileCount -= 1
    }

    /// The patterns of a volatile subscription, and the object that it filters for.
    func filter(of links: [SubscriptionLink], uid: UInt32) -> (patterns: [String], object: String?) {
        guard let scope = scopes[uid]?.number else { return ([], nil) }
        let filters = links.map { center.filter(of: $0, scope: scope) }
        return (filters.map(\.pattern), filters.first?.object)
    }

    // MARK: Registrations

    /// Registers a durable subscription and returns the registration's id. Ids ascend.
    ///
    /// - Parameter isLimited: Whether to enforce the limit. False for a subscription that is restored from the log.
    /// - Throws: `limitReached` if too many of the user's patterns can match the same name.
    mutating func addDurable(
        _ filter: SubscriptionFilter, _ slot: DurableSlot, uid: UInt32, isLimited: Bool = true
    ) throws(WireError) -> UInt64 {
        let id = register(.durable(slot), uid: uid)
        do throws(WireError) {
            _ = try subscribe(id, filter, uid: uid, isLimited: isLimited)
        } catch {
            remove(id, uid: uid)
            throw error
        }
        return id
    }

    /// Ends a registration with all its subscriptions. If the subscriptions have many links, ``continueRemoval()``
    /// removes the remaining links in steps.
    ///
    /// - Parameter volatileSubscriptions: The number of volatile subscriptions of the registration.
    mutating func remove(_ registration: UInt64, uid: UInt32, volatileSubscriptions: Int = 0) {
        guard let scope = scopes[uid] else { return }
        volatileCount -= volatileSubscriptions
        if let ended = center.end(registration, removing: Self.linksPerStep, scope: scope.number) {
            pendingRemovals.append((ended, uid))
        } else {
            registrationRemoved(from: uid)
        }
    }

    private mutating func registrationRemoved(from uid: UInt32) {
        guard let scope = scopes[uid] else { return }
        if scope.registrations > 1 {
            scopes[uid]?.registrations -= 1
        } else {
            scopes[uid] = nil
            vacantScopes.append(scope.number)
        }
    }

    /// The user whose ended registration is removed next; nil if none is left.
    var pendingRemovalUID: UInt32? { pendingRemovals.first?.uid }

    /// Removes some of the links of the first ended registration.
    mutating func continueRemoval() {
        guard let (ended, uid) = pendingRemovals.first, center.remove(Self.linksPerStep, of: ended) else { return }
        pendingRemovals.removeFirst()
        registrationRemoved(from: uid)
    }

    private mutating func register(_ subscriber: Subscriber, uid: UInt32) -> UInt64 {
        let scope = scope(of: uid)
        scopes[uid]?.registrations += 1
        return center.addSubscriber(
            priority: subscriber.priority, slot: subscriber.registrationSlot, scope: scope)
    }

    private mutating func scope(of uid: UInt32) -> Int {
        if let scope = scopes[uid] { return scope.number }
        let number = vacantScopes.popLast() ?? scopeCount
        if number == scopeCount { scopeCount += 1 }
        scopes[uid] = Scope(number: number)
        return number
    }

    private mutating func subscribe(
        _ registration: UInt64, _ filter: SubscriptionFilter, uid: UInt32, isLimited: Bool = true
    ) throws(WireError) -> [SubscriptionLink] {
        do throws(OverlapError) {
            return try center.subscribe(
                registration, to: filter.patterns, object: filter.object, scope: scope(of: uid), isLimited: isLimited)
        } catch {
            throw WireError(
                .limitReached,
                "too many patterns of \(uid.userTitle) can match the same name: "
                    + "limits.per_user.pattern_overlap is \(center.maximumOverlap); "
                    + "use fewer or more specific patterns")
        }
    }

    // MARK: Resolutions

    /// The memory of cached resolutions.
    var cacheBytes: Int { center.cachedResolutionBytes }

    /// Reduces the cache of resolutions to 256 KiB, or restores its limit.
    mutating func limitCache(isReduced: Bool) {
        center.limitCache(toBytes: isReduced ? Self.reducedCacheBytes : maximumCacheBytes)
    }

    /// The cached resolution of a name and object; nil if there is none. After a hit, the name and object need no
    /// validation, because only valid names and objects are cached.
    @inline(__always)
    mutating func cached(_ key: PostKey) -> CachedResolution? {
        center.cachedResolution(of: key)
    }

    /// Sets the tag with which ``AccessControl`` decides about posts under the name of a cached resolution.
    mutating func setTag(_ tag: UInt16, of cached: CachedResolution) { center.setTag(tag, of: cached) }

    /// Resolves a valid name and object. Unless the resolution is cached, `isPermitted` is called for each registration
    /// that matches.
    mutating func resolve(_ key: PostKey, where isPermitted: (Registration) -> Bool) -> Resolution {
        center.resolve(key, where: isPermitted)
    }

    /// Whether a message's resolution from the time of its post is still right. False if rights have changed since
    /// then, or if the registration of a durable subscription was replaced.
    func isCurrent(_ resolution: Resolution, of sequence: UInt64) -> Bool {
        resolution.generation == center.resolutionGeneration && sequence > replacedThrough
    }

    /// Must be called when the registration of a durable subscription was replaced, with the last sequence posted.
    mutating func registrationReplaced(through sequence: UInt64) {
        replacedThrough = sequence
    }

    /// Drops all cached resolutions, because rights have changed.
    mutating func rightsChanged() {
        center.dropResolutions()
    }
}

extension PostKey {
    /// The key of a message. An empty object means no object.
    @inline(__always)
    init(_ parts: MessageParts) {
        self.init(name: parts.name, object: parts.object.isEmpty ? nil : parts.object)
    }
}

import DequeModule
import NotifyCenter
import NotifyLog
import NotifyWire

/// The center: every connection with subscriptions, and every durable subscription, is a registration in it, and every
/// delivery goes through it.
///
/// However many subscriptions of a connection match, a message is delivered to it once. A resolution holds only those
/// registrations that may receive the name, so that rights cost nothing per message. Each user's registrations are in a scope
/// of their own, which bounds how long they take to match and tells what memory they occupy.
struct Subscriptions: ~Copyable {
    private struct Scope {
        let number: Int
        var registrations = 0
    }

    private static let reducedCacheBytes = 256 << 10
    /// A pattern has up to 32 tokens, so a piece takes up to half a millisecond.
    private static let linksPerPiece = 64

    private var center: CenterCore
    private let maximumCacheBytes: Int
    private var scopes: [UInt32: Scope] = [:]
    private var vacantScopes: [Int] = []
    private var scopeCount = 0
    private(set) var volatileCount = 0
    /// What is to be removed from the center, of registrations that have ended.
    private var remains: Deque<(ended: EndedRegistration, uid: UInt32)> = []

    /// - Parameter maximumOverlap: How many registrations and nodes, of 16 each, of one user one name may match.
    /// - Parameter maximumCacheBytes: The most memory that cached resolutions may take.
    init(
        maximumOverlap: Int = BrokerConfiguration().patternOverlapPerUser,
        maximumCacheBytes: Int = BrokerConfiguration().memoryBytes / 8
    ) {
        self.maximumCacheBytes = maximumCacheBytes
        center = CenterCore(reservedFirstToken: ReservedNames.daemonToken, maximumOverlap: maximumOverlap)
        center.limitCache(toBytes: maximumCacheBytes)
    }

    var registrationCount: Int { center.registrationCount }

    /// The memory that the user's registrations occupy.
    func byteCount(of uid: UInt32) -> Int {
        scopes[uid].map { center.byteCount(ofScope: $0.number) } ?? 0
    }

    /// What of that is vacant, and is used again before more is asked for.
    func vacantByteCount(of uid: UInt32) -> Int {
        scopes[uid].map { center.vacantByteCount(ofScope: $0.number) } ?? 0
    }

    /// The work that matching took so far, in units of ``Turns``.
    var work: Int { center.work }

    // MARK: Volatile subscriptions

    /// Adds a subscription to a connection.
    ///
    /// - Parameter registration: The connection's; made with its first subscription.
    /// - Returns: What ``removeVolatile(_:uid:)`` is to be given.
    /// - Throws: `limitReached`, if too many of the user's patterns can match the same name.
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

    // MARK: Registrations

    /// Registers a durable subscription and returns the registration's id, which rises.
    ///
    /// - Parameter isLimited: Whether limits hold; not for one that the log knows already.
    /// - Throws: `limitReached`, if too many of the user's patterns can match the same name.
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

    /// Ends a registration with all its subscriptions. What they leave in the center, if they are many, is removed by
    /// ``removeRemains()`` in pieces.
    ///
    /// - Parameter volatileSubscriptions: How many of them are volatile.
    mutating func remove(_ registration: UInt64, uid: UInt32, volatileSubscriptions: Int = 0) {
        guard let scope = scopes[uid] else { return }
        volatileCount -= volatileSubscriptions
        if let ended = center.end(registration, removing: Self.linksPerPiece, scope: scope.number) {
            remains.append((ended, uid))
        } else {
            registrationIsGone(from: uid)
        }
    }

    private mutating func registrationIsGone(from uid: UInt32) {
        guard let scope = scopes[uid] else { return }
        if scope.registrations > 1 {
            scopes[uid]?.registrations -= 1
        } else {
            scopes[uid] = nil
            vacantScopes.append(scope.number)
        }
    }

    /// The user of whose registrations something is left to be removed, if there is any.
    var uidOfRemains: UInt32? { remains.first?.uid }

    /// Removes a piece of what registrations left.
    mutating func removeRemains() {
        guard let (ended, uid) = remains.first, center.remove(Self.linksPerPiece, of: ended) else { return }
        remains.removeFirst()
        registrationIsGone(from: uid)
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
                "too many patterns of user \(uid) can match the same name: "
                    + "limits.per_user.pattern_overlap is \(center.maximumOverlap)")
        }
    }

    // MARK: Resolutions

    /// The memory of cached resolutions.
    var cacheBytes: Int { center.cachedResolutionBytes }

    /// Gives cached resolutions up, and caches few of them from now on; or as many as otherwise.
    mutating func limitCache(isReduced: Bool) {
        center.limitCache(toBytes: isReduced ? Self.reducedCacheBytes : maximumCacheBytes)
    }

    /// The registrations that a name and object reach, if they are cached. Then both were checked before.
    @inline(__always)
    mutating func cached(_ key: PostKey) -> Resolution? {
        center.cachedResolution(of: key)
    }

    /// Resolves a valid name and object. `isPermitted` is asked for each registration that matches, unless the
    /// resolution is cached.
    mutating func resolve(_ key: PostKey, where isPermitted: (Registration) -> Bool) -> Resolution {
        center.resolve(key, where: isPermitted)
    }

    /// Whether the resolution was made under the present rights.
    func isCurrent(_ resolution: Resolution) -> Bool {
        resolution.generation == center.resolutionGeneration
    }

    /// Rights have changed: nothing that was decided before is used again.
    mutating func rightsChanged() {
        center.dropResolutions()
    }
}

extension PostKey {
    /// The key of a message. An empty object is none.
    @inline(__always)
    init(_ parts: MessageParts) {
        self.init(name: parts.name, object: parts.object.isEmpty ? nil : parts.object)
    }
}

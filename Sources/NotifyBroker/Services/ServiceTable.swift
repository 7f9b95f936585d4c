import NotifyCenter
import NotifyLog
import NotifyWire

/// The services, and the center that resolves the name of a request to those that match.
///
/// The services that a name resolves to all belong to one user. ``service(overlapping:uid:where:)`` finds those of others
/// before a service is added. After a change of rights, services of several users may match: then the user of the service
/// that was added first has the name. Each user has a scope in the center, which bounds the work of matching and measures
/// the memory of the user's services.
struct ServiceTable: ~Copyable {
    private struct Scope {
        let number: Int
        var services = 0
        var patterns = 0
    }

    /// The maximum work of matching a name with the services of a user. It bounds the services that match.
    private static let maximumOverlap = 4_096
    /// The maximum number of patterns that a user serves. Limited because a new pattern is compared with those of all
    /// other users.
    private static let maximumPatterns = 1_024
    private static let cacheBytes = 1 << 20

    private var center: CenterCore
    private var services = SlotMap<PlainSlotID, Service>()
    private var slots: [Service.Key: Int32] = [:]
    private var scopes: [UInt32: Scope] = [:]
    private var vacantScopes: [Int] = []
    private var scopeCount = 0
    /// The number of distinct patterns of all services.
    private(set) var patternCount = 0

    init() {
        center = CenterCore(reservedFirstToken: ReservedNames.daemonToken, maximumOverlap: Self.maximumOverlap)
        center.limitCache(toBytes: Self.cacheBytes)
    }

    /// The memory of the user's services in the center, in bytes.
    func byteCount(of uid: UInt32) -> Int { scopes[uid].map { center.byteCount(ofScope: $0.number) } ?? 0 }

    /// The total work of the center, in units of ``FairScheduler``.
    var work: Int { center.work }

    /// The slots in use, in ascending order.
    var indices: [Int32] { services.indices.map(Int32.init) }

    /// The slot of the service with this identity and these patterns; nil if there is none.
    func slot(of key: Service.Key) -> Int32? { slots[key] }

    /// The service in a slot that is in use.
    subscript(slot: Int32) -> Service {
        @inline(__always) _read { yield services[Int(slot)] }
        @inline(__always) _modify { yield &services[Int(slot)] }
    }

    // MARK: Resolving

    /// Drops all cached resolutions, because rights have changed.
    mutating func rightsChanged() { center.dropResolutions() }

    /// The services of one user that match a valid name. Unless the resolution is cached, `isPermitted` is called with
    /// the identities of services that match.
    mutating func resolve(_ name: UnsafeRawBufferPointer, where isPermitted: (IdentityID) -> Bool) -> Resolution {
        Self.resolve(name, &center, services, where: isPermitted)
    }

    private static func resolve(
        _ name: UnsafeRawBufferPointer, _ center: inout CenterCore, _ services: SlotMap<PlainSlotID, Service>,
        where isPermitted: (IdentityID) -> Bool
    ) -> Resolution {
        let key = PostKey(name: name, object: nil)
        if let cached = center.cachedResolution(of: key) { return cached.resolution }
        var user: UInt32?
        return center.resolve(key) { registration in
            let service = services[Int(registration.slot)]
            guard service.uid == user ?? service.uid, isPermitted(service.key.identity) else { return false }
            user = service.uid
            return true
        }
    }

    /// A service of another user that serves some of the names that `patterns` match; nil if there is none.
    ///
    /// - Parameter isPermitted: Whether an identity still has the right to serve some of the names of a pattern.
    func service(
        overlapping patterns: [NamePattern], uid: UInt32, where isPermitted: (NamePattern, IdentityID) -> Bool
    ) -> Service? {
        services.values.first { service in
            service.uid != uid
                && service.key.patterns.contains { held in
                    patterns.contains { pattern in
                        pattern.intersection(held).map { isPermitted($0, service.key.identity) } ?? false
                    }
                }
        }
    }

    // MARK: Adding and removing

    /// Adds a service without servers.
    ///
    /// - Throws: `limitReached` if the user serves too many patterns, or too many of them match the same name.
    mutating func add(_ key: Service.Key, uid: UInt32) throws(WireError) -> Int32 {
        let scope = scope(of: uid)
        guard (scopes[uid]?.patterns ?? 0) + key.patterns.count <= Self.maximumPatterns else {
            removeScopeIfUnused(uid)
            throw WireError(
                .limitReached,
                "\(uid.userTitle) serves \(scopes[uid]?.patterns ?? 0) patterns, and the limit is "
                    + "\(Self.maximumPatterns); serve fewer or more general ones")
        }
        let slot = Int32(services.nextID.index)
        let registration = center.addSubscriber(slot: slot, scope: scope)
        do throws(OverlapError) {
            _ = try center.subscribe(registration, to: key.patterns, scope: scope)
        } catch {
            _ = center.remove(registration, scope: scope)
            removeScopeIfUnused(uid)
            throw WireError(
                .limitReached,
                "too many served patterns of \(uid.userTitle) match the same name; serve fewer or more specific ones")
        }
        services.insert(Service(key: key, uid: uid, registration: registration))
        slots[key] = slot
        scopes[uid]?.services += 1
        scopes[uid]?.patterns += key.patterns.count
        patternCount += key.patterns.count
        return slot
    }

    /// Removes and returns a service.
    mutating func remove(_ slot: Int32) -> Service? {
        guard let service = services.remove(at: Int(slot)) else { return nil }
        slots[service.key] = nil
        patternCount -= service.key.patterns.count
        if let scope = scopes[service.uid] { _ = center.remove(service.registration, scope: scope.number) }
        scopes[service.uid]?.services -= 1
        scopes[service.uid]?.patterns -= service.key.patterns.count
        removeScopeIfUnused(service.uid)
        return service
    }

    private mutating func scope(of uid: UInt32) -> Int {
        if let scope = scopes[uid] { return scope.number }
        let number = vacantScopes.popLast() ?? scopeCount
        if number == scopeCount { scopeCount += 1 }
        scopes[uid] = Scope(number: number)
        return number
    }

    private mutating func removeScopeIfUnused(_ uid: UInt32) {
        guard let scope = scopes[uid], scope.services == 0 else { return }
        scopes[uid] = nil
        vacantScopes.append(scope.number)
    }
}

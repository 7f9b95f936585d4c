@testable import NotifyCenter

/// A copyable wrapper of a core for `#expect`, which copies its operands.
final class TestCore {
    private var core: CenterCore

    init(cacheBytes: Int = 2 << 20, reserved: String? = nil) {
        core = CenterCore(resolutionCacheBytes: cacheBytes, reservedFirstToken: reserved)
    }

    var count: Int { core.registrationCount }
    var cachedCount: Int { core.cachedResolutionCount }
    var cachedBytes: Int { core.cachedResolutionBytes }
    var footprint: Int { core.footprint }
    var removalCount: UInt64 { core.removalCount }

    func add(_ patterns: [NamePattern], object: String? = nil, priority: Int32 = 0, slot: Int32 = 0) -> UInt64 {
        core.add(patterns: patterns, object: object, priority: priority, slot: slot)
    }

    func add(_ patterns: String..., object: String? = nil, priority: Int32 = 0, slot: Int32 = 0) throws -> UInt64 {
        add(try patterns.map { try NamePattern($0) }, object: object, priority: priority, slot: slot)
    }

    func addExact(_ name: String, object: String? = nil, slot: Int32 = 0) -> UInt64 {
        core.addExact(name: name, object: object, slot: slot)
    }

    func addEveryName(object: String? = nil, slot: Int32 = 0) -> UInt64 {
        core.addEveryName(object: object, slot: slot)
    }

    func remove(_ id: UInt64) -> Bool { core.remove(id) }

    func end(_ id: UInt64, removing links: Int) -> EndedRegistration? {
        core.end(id, removing: links, scope: 0)
    }

    func remove(_ links: Int, of ended: EndedRegistration) -> Bool { core.remove(links, of: ended) }
    func contains(_ id: UInt64) -> Bool { core.contains(id) }

    func resolve(_ name: String, _ object: String? = nil) -> Resolution {
        Array(name.utf8).withUnsafeBytes { name in
            guard let object else { return core.resolve(name: name, object: nil) }
            return Array(object.utf8).withUnsafeBytes { core.resolve(name: name, object: $0) }
        }
    }

    func resolve(
        _ name: String, _ object: String? = nil, where isPermitted: (Registration) -> Bool
    ) -> Resolution {
        Array(name.utf8).withUnsafeBytes { name in
            guard let object else { return core.resolve(name: name, object: nil, where: isPermitted) }
            return Array(object.utf8).withUnsafeBytes { core.resolve(name: name, object: $0, where: isPermitted) }
        }
    }

    /// Resolves as the broker does: looks up the cache and resolves with the same `PostKey`.
    func resolveKey(_ name: String, _ object: String? = nil, where isPermitted: (Registration) -> Bool) -> Resolution {
        func resolve(_ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer?) -> Resolution {
            let key = PostKey(name: name, object: object)
            return core.cachedResolution(of: key)?.resolution ?? core.resolve(key, where: isPermitted)
        }
        return name.withUTF8Bytes { name in
            guard let object else { return resolve(name, nil) }
            return object.withUTF8Bytes { resolve(name, $0) }
        }
    }

    var generation: UInt64 { core.resolutionGeneration }
    func dropResolutions() { core.dropResolutions() }

    /// The slots of the registrations that match a post, in order of delivery.
    func slots(_ name: String, _ object: String? = nil) -> [Int32] {
        resolve(name, object).registrations.map(\.slot)
    }

    func cached(_ name: String, _ object: String? = nil) -> Resolution? {
        Array(name.utf8).withUnsafeBytes { name in
            guard let object else { return core.cachedResolution(name: name, object: nil) }
            return Array(object.utf8).withUnsafeBytes { core.cachedResolution(name: name, object: $0) }
        }
    }
}

import Synchronization

@testable import NotifyCenter

/// What both coats of the center have in common: the one with closures that a program uses, and the bare core as the
/// broker of the daemon uses it.
protocol ConformingCenter: Sendable {
    /// Ends an observation when told to, not by itself.
    associatedtype Handle: Sendable

    init()

    func observe(
        _ patterns: [NamePattern], object: String?, priority: Int32,
        using body: @escaping @Sendable (_ name: String, _ object: String?) -> Void
    ) -> Handle

    func observeEveryName(
        object: String?, using body: @escaping @Sendable (_ name: String, _ object: String?) -> Void
    ) -> Handle

    func end(_ handle: Handle)

    func post(_ name: NotificationName, object: String?)

    var observationCount: Int { get }
}

extension ConformingCenter {
    func observe(
        _ patterns: String..., object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (_ name: String, _ object: String?) -> Void
    ) throws -> Handle {
        try observe(patterns.map { try NamePattern($0) }, object: object, priority: priority, using: body)
    }

    func post(_ name: String, object: String? = nil) throws {
        post(try NotificationName(name), object: object)
    }
}

/// The core with closures beside it. A post resolves once and asks before each call whether the registration is still
/// there, as the broker does.
final class CoreCenter: ConformingCenter {
    typealias Body = @Sendable (String, String?) -> Void

    private struct State: ~Copyable, Sendable {
        var core = CenterCore(resolutionCacheLimit: 4)
        var bodies: [UInt64: Body] = [:]
    }

    private let state = Mutex(State())

    var observationCount: Int { state.withLock { $0.core.registrationCount } }

    func observe(
        _ patterns: [NamePattern], object: String?, priority: Int32, using body: @escaping Body
    ) -> UInt64 {
        state.withLock { state in
            let id = state.core.add(patterns: patterns, object: object, priority: priority, slot: 0)
            state.bodies[id] = body
            return id
        }
    }

    func observeEveryName(object: String?, using body: @escaping Body) -> UInt64 {
        state.withLock { state in
            let id = state.core.addEveryName(object: object, slot: 0)
            state.bodies[id] = body
            return id
        }
    }

    func end(_ handle: UInt64) {
        // Not under the lock: the body may hold the last reference to this center.
        _ = state.withLock { state in
            _ = state.core.remove(handle)
            return state.bodies.removeValue(forKey: handle)
        }
    }

    func post(_ name: NotificationName, object: String?) {
        let resolution = state.withLock { state in
            name.withUTF8 { name in
                guard let object else { return state.core.resolve(name: name, object: nil) }
                return object.withUTF8Bytes { state.core.resolve(name: name, object: $0) }
            }
        }
        for registration in resolution.registrations {
            let body = state.withLock { state in
                state.core.contains(registration.id) ? state.bodies[registration.id] : nil
            }
            body?(name.string, object)
        }
    }
}

/// The local center, with tokens that are cancelled.
final class TokenCenter: ConformingCenter {
    private let center = LocalCenter()

    var observationCount: Int { center.observationCount }

    func observe(
        _ patterns: [NamePattern], object: String?, priority: Int32,
        using body: @escaping @Sendable (String, String?) -> Void
    ) -> ObservationToken {
        center.observe(patterns, object: object.map { .init($0) }, options: .priority(priority)) {
            body($0.name.string, $0.object?.text)
        }
    }

    func observeEveryName(
        object: String?, using body: @escaping @Sendable (String, String?) -> Void
    ) -> ObservationToken {
        center.observe(.every, object: object.map { .init($0) }) { body($0.name.string, $0.object?.text) }
    }

    func end(_ handle: ObservationToken) { handle.cancel() }

    func post(_ name: NotificationName, object: String?) { center.post(name, object: object.map { .init($0) }) }
}

/// The local center, with owners that are let go.
final class OwnerCenter: ConformingCenter {
    final class Owner: Sendable {}

    /// The only reference to an owner.
    final class Handle: Sendable {
        fileprivate let owner: Mutex<Owner?>

        init(_ owner: Owner) { self.owner = Mutex(owner) }
    }

    private let center = LocalCenter()

    var observationCount: Int { center.observationCount }

    func observe(
        _ patterns: [NamePattern], object: String?, priority: Int32,
        using body: @escaping @Sendable (String, String?) -> Void
    ) -> Handle {
        let owner = Owner()
        center.observe(patterns, object: object.map { .init($0) }, owner: owner, options: .priority(priority)) {
            body($1.name.string, $1.object?.text)
        }
        return Handle(owner)
    }

    func observeEveryName(
        object: String?, using body: @escaping @Sendable (String, String?) -> Void
    ) -> Handle {
        let owner = Owner()
        center.observe(.every, object: object.map { .init($0) }, owner: owner) { body($1.name.string, $1.object?.text) }
        return Handle(owner)
    }

    func end(_ handle: Handle) { handle.owner.withLock { $0 = nil } }

    func post(_ name: NotificationName, object: String?) { center.post(name, object: object.map { .init($0) }) }
}

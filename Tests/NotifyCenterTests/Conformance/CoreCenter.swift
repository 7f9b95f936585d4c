@_spi(Package) import NotifyCenter
import Synchronization
import CenterConformance

/// A center that consists of the core and a table of closures. As in the broker, a post resolves once, and checks
/// before each call that the registration has not ended.
final class CoreCenter: ConformingCenter {
    typealias Body = @Sendable (String, String?) -> Void

    private struct State: ~Copyable, Sendable {
        var core = CenterCore(resolutionCacheBytes: 512)
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
        // The body is released outside the lock, because it may hold the last reference to this center.
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

@_spi(Package) import NotifyCenter
import Synchronization
import CenterConformance

/// A local center whose observations end when their tokens are cancelled.
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

/// A local center whose observations end when their owners are released.
final class OwnerCenter: ConformingCenter {
    final class Owner: Sendable {}

    /// The only strong reference to an owner.
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

package import NotifyCenter

/// A center that the conformance suite checks: `LocalCenter`, `CenterCore` or the daemon's broker.
package protocol ConformingCenter: Sendable {
    /// Identifies an observation. Releasing the handle may also end the observation.
    associatedtype Handle: Sendable

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
    package func observe(
        _ patterns: String..., object: String? = nil, priority: Int32 = 0,
        using body: @escaping @Sendable (_ name: String, _ object: String?) -> Void
    ) throws -> Handle {
        try observe(patterns.map { try NamePattern($0) }, object: object, priority: priority, using: body)
    }

    package func post(_ name: String, object: String? = nil) throws {
        post(try NotificationName(name), object: object)
    }
}

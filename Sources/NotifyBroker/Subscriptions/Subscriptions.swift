import NotifyCenter
import NotifyLog
import NotifyWire

/// The center: every subscription is a registration in it, and every delivery goes through it.
///
/// A resolution holds only those registrations that may receive the name, so that rights cost nothing per message.
struct Subscriptions: ~Copyable {
    private var center = CenterCore(reservedFirstToken: ReservedNames.daemonToken)
    private(set) var volatileCount = 0

    var registrationCount: Int { center.registrationCount }

    // MARK: Registrations

    /// Registers a subscriber and returns the registration's id, which rises.
    mutating func add(_ filter: SubscriptionFilter, _ subscriber: Subscriber) -> UInt64 {
        if case .connection = subscriber { volatileCount += 1 }
        return center.add(
            patterns: filter.patterns, object: filter.object, priority: subscriber.priority,
            slot: subscriber.registrationSlot)
    }

    mutating func removeVolatile(_ registration: UInt64) {
        _ = center.remove(registration)
        volatileCount -= 1
    }

    mutating func removeDurable(_ registration: UInt64) {
        _ = center.remove(registration)
    }

    // MARK: Resolutions

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

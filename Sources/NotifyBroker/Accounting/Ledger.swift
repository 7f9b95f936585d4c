import NotifyWire

/// What each user holds of everything that is limited. Each machine reports here what it takes and gives back.
struct Ledger {
    enum Resource: Int, CaseIterable {
        case connections
        case subscriptions
        case durableSubscriptions
        /// Bytes of frames that have not arrived whole.
        case receivedBytes
        /// Bytes that wait in outboxes.
        case outboxBytes
    }

    private let limits: SIMD8<Int>
    private var amounts: [UInt32: SIMD8<Int>] = [:]
    private var storedNames: StoredNames

    init(_ configuration: BrokerConfiguration) {
        var limits = SIMD8<Int>(repeating: .max)
        limits[Resource.connections.rawValue] = configuration.connectionsPerUser
        limits[Resource.subscriptions.rawValue] = configuration.subscriptionsPerUser
        limits[Resource.durableSubscriptions.rawValue] = configuration.durableSubscriptionsPerUser
        limits[Resource.receivedBytes.rawValue] = configuration.partialBytesPerUser
        limits[Resource.outboxBytes.rawValue] = configuration.outboxBytesPerUser
        self.limits = limits
        storedNames = StoredNames(limit: configuration.namesPerUser)
    }

    func amount(of resource: Resource, uid: UInt32) -> Int {
        amounts[uid]?[resource.rawValue] ?? 0
    }

    func limit(of resource: Resource) -> Int { limits[resource.rawValue] }

    /// Whether the user holds nothing.
    func isEmpty(uid: UInt32) -> Bool { amounts[uid] == nil }

    /// Takes one more, unless that passes the limit.
    ///
    /// - Throws: `limitReached`, naming the limit; nothing is taken then.
    mutating func take(_ resource: Resource, uid: UInt32) throws(WireError) {
        guard amount(of: resource, uid: uid) < limit(of: resource) else { throw exceeded(resource, uid: uid) }
        change(resource, by: 1, uid: uid)
    }

    /// Notes that what the user holds grew or shrank, whatever the limit.
    mutating func change(_ resource: Resource, by amount: Int, uid: UInt32) {
        guard amount != 0 else { return }
        var account = amounts[uid] ?? .zero
        account[resource.rawValue] += amount
        amounts[uid] = account == .zero ? nil : account
    }

    /// - Throws: `limitReached`, if the user holds more than the limit.
    func check(_ resource: Resource, uid: UInt32) throws(WireError) {
        guard amount(of: resource, uid: uid) <= limit(of: resource) else { throw exceeded(resource, uid: uid) }
    }

    /// Notes that `uid` stores a message under `name`.
    ///
    /// - Throws: `limitReached`, if that is one name more than the limit.
    mutating func noteStored(_ name: UnsafeRawBufferPointer, uid: UInt32) throws(WireError) {
        try storedNames.note(name, by: uid)
    }

    private func exceeded(_ resource: Resource, uid: UInt32) -> WireError {
        WireError(.limitReached, "user \(uid) has reached the limit of \(limit(of: resource)) \(resource.title)")
    }
}

extension Ledger.Resource {
    fileprivate var title: String {
        switch self {
        case .connections: "connections"
        case .subscriptions: "subscriptions"
        case .durableSubscriptions: "durable subscriptions"
        case .receivedBytes: "bytes of unfinished frames"
        case .outboxBytes: "bytes in outboxes"
        }
    }
}

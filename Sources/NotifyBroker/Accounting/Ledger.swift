import NotifyWire

/// What each user holds of everything that is limited. Each machine reports here what it takes and gives back.
///
/// The memory of the daemon is shared: a user may hold at most half of what the others leave, so that one user alone gets just
/// under half, and two a third each; 5 % are root's. What is charged is what the memory was asked for, not what it is worth.
struct Ledger {
    enum Resource: Int, CaseIterable {
        case connections
        case subscriptions
        case durableSubscriptions
        /// Connections for which volatile messages wait.
        case slowConnections
        /// Bytes of volatile messages that wait in outboxes, for each connection. Connections share their memory.
        case outboxBytes
        /// Bytes of connections themselves.
        case connectionBytes
        /// Bytes of subscriptions in the center.
        case registrationBytes
        /// Bytes of durable subscriptions: filters, and what is in flight.
        case durableBytes
        /// Bytes received and not processed, of whole frames and of parts.
        case receivedBytes
        /// Bytes of blocks of messages that outboxes and sockets keep alive.
        case blockBytes
        /// Bytes of answers, and of messages that are no longer in a block, that wait in outboxes and for sockets.
        case answerBytes
        /// Bytes of posts and changes that wait for the store.
        case pendingBytes
        /// Bytes of the names under which messages were stored.
        case nameBytes

        /// From here on resources are memory.
        static let firstBytes = Resource.connectionBytes
    }

    private struct Account {
        var amounts = SIMD16<Int>.zero
        /// All that is memory.
        var bytes = 0
    }

    let memoryLimit: Int
    private let limits: SIMD16<Int>
    private var accounts: [UInt32: Account] = [:]
    private var storedNames: StoredNames
    /// What all users hold.
    private(set) var totalBytes = 0

    init(_ configuration: BrokerConfiguration) {
        var limits = SIMD16<Int>(repeating: .max)
        limits[Resource.connections.rawValue] = configuration.connectionsPerUser
        limits[Resource.subscriptions.rawValue] = configuration.subscriptionsPerUser
        limits[Resource.durableSubscriptions.rawValue] = configuration.durableSubscriptionsPerUser
        limits[Resource.registrationBytes.rawValue] = configuration.subscriptionBytesPerUser
        limits[Resource.receivedBytes.rawValue] = configuration.partialBytesPerUser
        limits[Resource.outboxBytes.rawValue] = configuration.outboxBytesPerUser
        self.limits = limits
        memoryLimit = configuration.memoryBytes
        storedNames = StoredNames(limit: configuration.namesPerUser)
    }

    /// Users that hold something, lowest first.
    var users: [UInt32] { accounts.keys.sorted() }

    func amount(of resource: Resource, uid: UInt32) -> Int {
        accounts[uid]?.amounts[resource.rawValue] ?? 0
    }

    func limit(of resource: Resource) -> Int { limits[resource.rawValue] }

    /// Whether the user holds nothing.
    func isEmpty(uid: UInt32) -> Bool { accounts[uid] == nil }

    // MARK: Taking and giving back

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
        var account = accounts[uid] ?? Account()
        account.amounts[resource.rawValue] += amount
        if resource.rawValue >= Resource.firstBytes.rawValue {
            account.bytes += amount
            totalBytes += amount
        }
        accounts[uid] = account.amounts == .zero ? nil : account
    }

    /// Notes what the user holds now.
    mutating func set(_ resource: Resource, to amount: Int, uid: UInt32) {
        change(resource, by: amount - self.amount(of: resource, uid: uid), uid: uid)
    }

    /// - Throws: `limitReached`, if the user holds more than the limit, or would with so much more.
    func check(_ resource: Resource, adding more: Int = 0, uid: UInt32) throws(WireError) {
        guard amount(of: resource, uid: uid) + more <= limit(of: resource) else { throw exceeded(resource, uid: uid) }
    }

    /// Notes that `uid` stores a message under `name`.
    ///
    /// - Throws: `limitReached`, if that is one name more than the limit.
    mutating func noteStored(_ name: UnsafeRawBufferPointer, uid: UInt32) throws(WireError) {
        let bytes = try storedNames.note(name, by: uid)
        if bytes > 0 { change(.nameBytes, by: bytes, uid: uid) }
    }

    private func exceeded(_ resource: Resource, uid: UInt32) -> WireError {
        WireError(
            .limitReached,
            "user \(uid) has reached the limit of \(limit(of: resource)) \(resource.title) (\(resource.setting))")
    }
}

// MARK: - Memory

extension Ledger {
    /// How many bytes more the user may hold; below zero where it holds more than it may.
    func room(of uid: UInt32) -> Int {
        let held = accounts[uid]?.bytes ?? 0
        let others = totalBytes - held
        if uid == 0 { return memoryLimit - totalBytes }
        return (memoryLimit - memoryLimit / 20 - others) / 2 - held
    }

    /// What the user holds in memory.
    func bytes(of uid: UInt32) -> Int { accounts[uid]?.bytes ?? 0 }

    /// So many bytes may be read at once for a connection of the user: the more connections, the less for each, so that all of
    /// them are read from in a turn of the loop, and little while much of what was read before waits.
    func readLimit(of uid: UInt32) -> Int {
        guard let amounts = accounts[uid]?.amounts else { return Self.leastRead }
        if amounts[Resource.receivedBytes.rawValue] > Self.readAheadBytes { return Self.leastRead }
        let part = Self.readBytes / max(1, amounts[Resource.connections.rawValue])
        return min(max(part, Self.leastRead), Self.mostRead)
    }

    private static let leastRead = 1 << 10
    private static let mostRead = 256 << 10
    private static let readAheadBytes = 8 << 20
    private static let readBytes = 16 << 20

    /// - Throws: `limitReached`, if the user may not hold so many bytes more.
    func checkRoom(for bytes: Int, uid: UInt32) throws(WireError) {
        guard room(of: uid) < bytes else { return }
        throw WireError(
            .limitReached,
            "user \(uid) holds \(accounts[uid]?.bytes ?? 0) bytes of the daemon's memory and may hold no more now "
                + "(limits.memory_bytes is \(memoryLimit))")
    }

    /// Whether what cannot be dropped takes up half of the user's share: then no more of it is made.
    func isTight(_ uid: UInt32) -> Bool {
        guard let account = accounts[uid] else { return false }
        let kept = account.bytes - account.amounts[Resource.blockBytes.rawValue]
        return kept > (room(of: uid) + account.bytes) / 2
    }

    /// How many volatile messages, in bytes, may wait for each of the user's slow connections; nil if they are within the limits.
    ///
    /// Where more waits than may, or the user holds more than its share, a connection for which less than its part waits loses
    /// nothing.
    func outboxLimitPerConnection(uid: UInt32) -> Int? {
        guard let account = accounts[uid] else { return nil }
        let waiting = account.amounts[Resource.outboxBytes.rawValue]
        let slow = max(1, account.amounts[Resource.slowConnections.rawValue])
        if waiting > limit(of: .outboxBytes) { return limit(of: .outboxBytes) / slow }
        return room(of: uid) < 0 ? waiting / slow / 2 : nil
    }
}

extension Ledger.Resource {
    /// The name under which the amount is reported, which is that of its setting if it has one.
    var name: String {
        switch self {
        case .connections: "connections"
        case .subscriptions: "subscriptions"
        case .durableSubscriptions: "durable_subscriptions"
        case .slowConnections: "slow_connections"
        case .connectionBytes: "connection_bytes"
        case .registrationBytes: "subscription_bytes"
        case .durableBytes: "durable_bytes"
        case .receivedBytes: "half_received_bytes"
        case .outboxBytes: "outbox_bytes"
        case .blockBytes: "block_bytes"
        case .answerBytes: "answer_bytes"
        case .pendingBytes: "pending_bytes"
        case .nameBytes: "name_bytes"
        }
    }

    /// What the amount is of, for people.
    fileprivate var title: String {
        switch self {
        case .connections: "connections"
        case .subscriptions: "subscriptions"
        case .durableSubscriptions: "durable subscriptions"
        case .slowConnections: "slow connections"
        case .connectionBytes: "bytes of connections"
        case .registrationBytes: "bytes of subscriptions"
        case .durableBytes: "bytes of durable subscriptions"
        case .receivedBytes: "bytes of unfinished frames"
        case .outboxBytes: "bytes in outboxes"
        case .blockBytes: "bytes of messages"
        case .answerBytes: "bytes of answers"
        case .pendingBytes: "bytes that wait for the disk"
        case .nameBytes: "bytes of names"
        }
    }

    /// The setting that limits it for a user.
    fileprivate var setting: String {
        switch self {
        case .connections, .subscriptions, .durableSubscriptions, .registrationBytes, .receivedBytes, .outboxBytes:
            "limits.per_user.\(name)"
        case .slowConnections, .connectionBytes, .durableBytes, .blockBytes, .answerBytes,
            .pendingBytes, .nameBytes:
            "limits.memory_bytes"
        }
    }
}

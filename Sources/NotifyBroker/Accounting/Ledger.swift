import NotifyLog
import NotifyWire

/// Each user's usage of every limited resource. The broker records allocations and releases here.
///
/// The users share the daemon's memory, of which 5% is reserved for root. A user other than root may hold at most half
/// of the memory that all other users leave free. A single user thus gets just under half, and two users just under a
/// third each. Buffers in outboxes are charged by capacity, not by the bytes in use.
struct Ledger {
    enum Resource: Int, CaseIterable {
        case connections
        case subscriptions
        case durableSubscriptions
        /// Connections with volatile messages waiting in their outbox.
        case slowConnections
        /// Requests to servers that are not answered yet.
        case requests
        /// Values that the user has set last, and announced values.
        case values
        /// Bytes of the user's values in the log.
        case valueBytes
        /// Bytes of volatile messages waiting in outboxes, summed over connections. Does not count as memory, because
        /// connections share the blocks.
        case outboxBytes
        /// Bytes of the connections' own state, and of the posts recorded by their monitors.
        case connectionBytes
        /// Bytes of the groups of the user's identities.
        case identityBytes
        /// Bytes of subscriptions in the center.
        case registrationBytes
        /// Bytes of durable subscriptions: filters, cursors and the records of messages in flight.
        case durableBytes
        /// Bytes of received frames, complete or not, that are not processed yet.
        case receivedBytes
        /// Bytes of shared message blocks that outboxes and sockets keep alive.
        case blockBytes
        /// Bytes outside shared blocks, such as answers and copied messages, that wait in outboxes and for sockets.
        case answerBytes
        /// Bytes of posts, changes and requests that wait for the store, and of lists of stored names.
        case pendingBytes
        /// Bytes of the names under which messages were stored.
        case nameBytes
        /// Bytes of requests to servers that are not answered yet.
        case requestBytes
        /// Bytes of announced values and their wills.
        case announcementBytes
        /// Bytes in the kernel's socket buffers that were sent and that the peer has not read.
        case socketBytes

        /// The first resource that counts as memory. All cases after it count as memory, too.
        private static let firstBytes = Resource.connectionBytes

        var countsAsMemory: Bool { rawValue >= Self.firstBytes.rawValue }
    }

    private struct Account {
        /// The usage of each resource.
        private(set) var amounts = [Int](repeating: 0, count: Resource.allCases.count)
        /// The number of resources in use.
        private var usedResources = 0
        /// The sum of the resources that count as memory.
        private(set) var bytes = 0

        /// - Returns: Whether any resource is in use now.
        mutating func add(_ amount: Int, of resource: Resource) -> Bool {
            let old = amounts[resource.rawValue]
            let new = old + amount
            amounts[resource.rawValue] = new
            usedResources += (new == 0 ? 0 : 1) - (old == 0 ? 0 : 1)
            if resource.countsAsMemory { bytes += amount }
            return usedResources > 0
        }
    }

    private(set) var memoryLimit: Int
    /// The limit of each resource.
    private var limits: [Int]
    private var accounts: [UInt32: Account] = [:]
    private var storedNames: StoredNames
    /// The messages of each user in the log.
    var stored: StoredUsages
    var rates = RateLimiter()
    /// Whether caches are reduced because users hold much of the memory.
    var isEvicting = false
    /// The memory charged to all users.
    private(set) var totalBytes = 0

    /// - Parameters:
    ///   - names: The names of each user's messages in the log.
    ///   - stored: The number and bytes of each user's messages in the log.
    init(
        _ configuration: BrokerConfiguration, names: [UInt32: StoredNameSet] = [:],
        stored: [UInt32: StoredUsage] = [:]
    ) {
        self.stored = StoredUsages(stored)
        limits = Self.limits(configuration)
        memoryLimit = configuration.memoryBytes
        storedNames = StoredNames(names, limit: configuration.namesPerUser)
        for (uid, names) in names { change(.nameBytes, by: names.bytes, uid: uid) }
    }

    /// Replaces the limits. If a limit is lowered, a user that exceeds it keeps its resources.
    mutating func limitsChanged(to configuration: BrokerConfiguration) {
        limits = Self.limits(configuration)
        memoryLimit = configuration.memoryBytes
        storedNames.limit = configuration.namesPerUser
    }

    private static func limits(_ configuration: BrokerConfiguration) -> [Int] {
        var limits = [Int](repeating: .max, count: Resource.allCases.count)
        limits[Resource.connections.rawValue] = configuration.connectionsPerUser
        limits[Resource.subscriptions.rawValue] = configuration.subscriptionsPerUser
        limits[Resource.durableSubscriptions.rawValue] = configuration.durableSubscriptionsPerUser
        limits[Resource.registrationBytes.rawValue] = configuration.subscriptionBytesPerUser
        limits[Resource.receivedBytes.rawValue] = configuration.receivedBytesPerUser
        limits[Resource.outboxBytes.rawValue] = configuration.outboxBytesPerUser
        limits[Resource.values.rawValue] = configuration.valuesPerUser
        limits[Resource.valueBytes.rawValue] = configuration.valueBytesPerUser
        limits[Resource.requests.rawValue] = configuration.requestsPerUser
        limits[Resource.requestBytes.rawValue] = configuration.requestBytesPerUser
        return limits
    }

    /// Users with any usage, in any order.
    var users: some Sequence<UInt32> { accounts.keys }

    func amount(of resource: Resource, uid: UInt32) -> Int {
        accounts[uid]?.amounts[resource.rawValue] ?? 0
    }

    /// The usage of all users together.
    func total(of resource: Resource) -> Int { accounts.values.reduce(0) { $0 + $1.amounts[resource.rawValue] } }

    func limit(of resource: Resource) -> Int { limits[resource.rawValue] }

    /// Whether the user has no usage.
    func isEmpty(uid: UInt32) -> Bool { accounts[uid] == nil }

    // MARK: Changing usage

    /// Adds one to the usage.
    ///
    /// - Throws: `limitReached`, which names the limit, if the user has reached it. The usage is then unchanged.
    mutating func take(_ resource: Resource, uid: UInt32) throws(WireError) {
        guard amount(of: resource, uid: uid) < limit(of: resource) else { throw exceeded(resource, uid: uid) }
        change(resource, by: 1, uid: uid)
    }

    /// Adds `amount`, which may be negative, to the usage. Limits are not checked.
    mutating func change(_ resource: Resource, by amount: Int, uid: UInt32) {
        guard amount != 0 else { return }
        if resource.countsAsMemory { totalBytes += amount }
        let isUsed = accounts[uid, default: Account()].add(amount, of: resource)
        if !isUsed { accounts[uid] = nil }
    }

    /// Sets the usage. Limits are not checked.
    mutating func set(_ resource: Resource, to amount: Int, uid: UInt32) {
        change(resource, by: amount - self.amount(of: resource, uid: uid), uid: uid)
    }

    /// - Throws: `limitReached` if the usage exceeds the limit.
    func check(_ resource: Resource, uid: UInt32) throws(WireError) {
        guard amount(of: resource, uid: uid) <= limit(of: resource) else { throw exceeded(resource, uid: uid) }
    }

    /// Checks a change of the usage. One that adds nothing is permitted even above the limit, which may have been
    /// lowered.
    ///
    /// - Throws: `limitReached` if the usage plus `more` exceeds the limit.
    func check(_ resource: Resource, adding more: Int, uid: UInt32) throws(WireError) {
        guard more <= 0 || amount(of: resource, uid: uid) + more <= limit(of: resource) else {
            throw exceeded(resource, uid: uid)
        }
    }

    /// Records that `uid` stores a message under `name`, in a batch.
    ///
    /// - Throws: `limitReached` if the name is new and the user has reached its limit of names.
    mutating func noteStored(_ name: UnsafeRawBufferPointer, uid: UInt32, in batch: UInt64) throws(WireError) {
        let bytes = try storedNames.note(name, by: uid, in: batch)
        if bytes > 0 { change(.nameBytes, by: bytes, uid: uid) }
    }

    /// Records that a dead letter of `uid` is stored, in a batch. The limit of names does not apply, because a user has
    /// one name for dead letters.
    mutating func noteStored(deadLetter name: UnsafeRawBufferPointer, uid: UInt32, in batch: UInt64) {
        let bytes = try? storedNames.note(name, by: uid, in: batch, isLimited: false)
        if let bytes, bytes > 0 { change(.nameBytes, by: bytes, uid: uid) }
    }

    /// Records that the log contains no message of the name any more. The name is kept if a batch with an unknown
    /// outcome stores a message under it.
    mutating func nameRemoved(_ name: [UInt8], unlessIn unfinished: ClosedRange<UInt64>) {
        for (uid, bytes) in storedNames.remove(name, unlessIn: unfinished) { change(.nameBytes, by: -bytes, uid: uid) }
    }

    /// Replaces the recorded names of stored messages, because a new log has replaced the old one.
    ///
    /// - Parameters:
    ///   - committed: Blocks that the log contains.
    ///   - blocks: Blocks that are not committed yet: of the pending batch and of the batch in flight.
    mutating func setStoredNames(of committed: [LogBlock], andOf blocks: [LogBlock], in batch: UInt64) {
        for (uid, bytes) in storedNames.removeAll() { change(.nameBytes, by: -bytes, uid: uid) }
        for block in committed { noteNames(of: block, in: 0) }
        for block in blocks { noteNames(of: block, in: batch) }
    }

    private mutating func noteNames(of block: LogBlock, in batch: UInt64) {
        for entry in block.entries {
            block.withMessage(entry) { try? noteStored($0.parts.name, uid: $0.stamp.uid, in: batch) }
        }
    }

    private func exceeded(_ resource: Resource, uid: UInt32) -> WireError {
        WireError(
            .limitReached,
            "\(uid.userTitle) has reached the limit of \(limit(of: resource)) \(resource.title) (\(resource.setting))"
                + resource.advice)
    }
}

// MARK: - Memory

extension Ledger {
    /// The number of bytes that the user may hold in addition; negative if the user exceeds its share.
    func room(of uid: UInt32) -> Int {
        let held = accounts[uid]?.bytes ?? 0
        let others = totalBytes - held
        if uid == 0 { return memoryLimit - totalBytes }
        return (memoryLimit - memoryLimit / 20 - others) / 2 - held
    }

    /// The memory charged to the user.
    func bytes(of uid: UInt32) -> Int { accounts[uid]?.bytes ?? 0 }

    /// The maximum number of bytes per read from a connection of the user. Decreases with the number of the user's
    /// connections, to bound the bytes read from all of them in one turn of the loop. It is 1 KiB while more than 8 MiB
    /// of the user's input are unprocessed.
    func readLimit(of uid: UInt32) -> Int {
        guard let amounts = accounts[uid]?.amounts else { return Self.minimumReadBytes }
        if amounts[Resource.receivedBytes.rawValue] > Self.readAheadBytes { return Self.minimumReadBytes }
        let part = Self.readBytes / max(1, amounts[Resource.connections.rawValue])
        return min(max(part, Self.minimumReadBytes), Self.maximumReadBytes)
    }

    /// The size of the send buffer for the user's next connection; nil if the default size is small enough. The size
    /// decreases with the number of the user's connections. With the default limits, all buffers together stay below
    /// the user's share of the memory, even if no peer reads.
    func sendBufferBytes(of uid: UInt32) -> Int? {
        let share = max(0, room(of: uid)) + bytes(of: uid)
        let part = share / Self.sendBufferParts / max(1, amount(of: .connections, uid: uid))
        return part < Self.defaultSendBufferBytes ? max(part, Self.minimumSendBufferBytes) : nil
    }

    /// With n connections, the next one gets a buffer of `share / 8 / n`, within the bounds below.
    private static let sendBufferParts = 8
    private static let defaultSendBufferBytes = 208 << 10
    private static let minimumSendBufferBytes = 16 << 10

    private static let minimumReadBytes = 1 << 10
    private static let maximumReadBytes = 256 << 10
    private static let readAheadBytes = 8 << 20
    private static let readBytes = 16 << 20

    /// - Throws: `limitReached` if the user may not hold `bytes` more.
    func checkRoom(for bytes: Int, uid: UInt32) throws(WireError) {
        guard room(of: uid) < bytes else { return }
        throw WireError(
            .limitReached,
            "\(uid.userTitle) uses \(accounts[uid]?.bytes ?? 0) bytes of the daemon's memory, and exceeds its share "
                + "with this request (limits.memory_bytes is \(memoryLimit))")
    }

    /// Whether the user's memory, without shared blocks, exceeds half of the user's share. If so, lower limits apply to
    /// answers and stored messages that wait for the user's connections.
    func isUnderMemoryPressure(_ uid: UInt32) -> Bool {
        guard let account = accounts[uid] else { return false }
        let kept = account.bytes - account.amounts[Resource.blockBytes.rawValue]
        return kept > (room(of: uid) + account.bytes) / 2
    }

    /// The maximum number of bytes of volatile messages that may wait for each of the user's slow connections; nil if
    /// the user is within its limits.
    ///
    /// All slow connections have the same limit, so that only the connections with the most waiting bytes drop
    /// messages.
    func outboxLimitPerConnection(uid: UInt32) -> Int? {
        guard let account = accounts[uid] else { return nil }
        let waiting = account.amounts[Resource.outboxBytes.rawValue]
        let slow = max(1, account.amounts[Resource.slowConnections.rawValue])
        if waiting > limit(of: .outboxBytes) { return limit(of: .outboxBytes) / slow }
        return room(of: uid) < 0 ? waiting / slow / 2 : nil
    }
}

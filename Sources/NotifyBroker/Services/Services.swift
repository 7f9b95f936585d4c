import HeapModule
import NIOCore
import NotifyCenter
import NotifyWire

/// The servers of requests, and the calls: each call waits for a server, or is held by one. A pure state machine.
///
/// Servers with the same identity and patterns are one service. A slot and a generation identify a call, as in
/// dbus-broker's reply registry.
struct Services: ~Copyable {
    /// The deadline of a call. Earlier deadlines come first.
    private struct Deadline: Comparable {
        let time: Duration
        let call: CallID

        static func < (left: Self, right: Self) -> Bool { left.time < right.time }
    }

    private(set) var table = ServiceTable()
    private var servers = SlotMap<ServerID, Server>()
    private var calls = SlotMap<CallID, OpenCall>()
    private var deadlines = Heap<Deadline>()
    /// The number of deadlines at which those of ended calls are removed.
    private var deadlineLimit = 64
    private var lastTurn: UInt64 = 0
    /// The sum of the concurrency of each user's servers.
    private var concurrency: [UInt32: Int] = [:]
    /// The maximum number of calls that the servers of a user hold together. It bounds the memory of calls that a server
    /// holds although their askers have ended.
    private static let maximumConcurrency = 65_536

    /// The number of servers and waiting calls that were visited.
    private(set) var visits = 0
    /// Whether the services of waiting calls must be found again, because rights have changed.
    private(set) var isRematchDue = false
    /// The number of servers that have not ended.
    private(set) var serverCount = 0

    /// The number of calls that wait or are held.
    var callCount: Int { calls.count }

    subscript(call: CallID) -> OpenCall? { calls[call] }
    subscript(server: ServerID) -> Server? { servers[server] }

    /// Drops all cached resolutions, because rights have changed. Waiting calls must then be sent again.
    mutating func rightsChanged() {
        table.rightsChanged()
        isRematchDue = true
    }

    /// Takes the waiting calls whose services must be found again.
    mutating func takeUnmatched() -> [CallID] {
        isRematchDue = false
        return takeWaiting()
    }

    /// The services that match a valid name (see ``ServiceTable/resolve(_:where:)``).
    mutating func resolve(_ name: UnsafeRawBufferPointer, where isPermitted: (IdentityID) -> Bool) -> Resolution {
        table.resolve(name, where: isPermitted)
    }
}

// MARK: - Servers

extension Services {
    /// A server of another user that serves some of the names that the patterns match; nil if there is none.
    ///
    /// - Parameter isPermitted: Whether an identity still has the right to serve some of the names of a pattern.
    func holder(
        overlapping patterns: [NamePattern], uid: UInt32, where isPermitted: (NamePattern, IdentityID) -> Bool
    ) -> Server? {
        table.service(overlapping: patterns, uid: uid, where: isPermitted)?.servers.first.flatMap { servers[$0] }
    }

    /// Adds a server.
    ///
    /// - Throws: `limitReached` if the user serves too many patterns, too many of them match the same name, too many
    ///   servers have these patterns, or the servers of the user may hold too many calls.
    mutating func add(
        _ key: Service.Key, uid: UInt32, connection: ConnectionSlot, number: UInt32, concurrency: Int
    ) throws(WireError) -> ServerID {
        guard self.concurrency[uid, default: 0] + concurrency <= Self.maximumConcurrency else {
            throw WireError(
                .limitReached,
                "the servers of \(uid.userTitle) may hold \(Self.maximumConcurrency) calls together, and this one would "
                    + "add \(concurrency): lower its concurrency")
        }
        let service = if let known = table.slot(of: key) { known } else { try table.add(key, uid: uid) }
        guard table[service].servers.count < Service.maximumServers else {
            throw WireError(
                .limitReached,
                "\(uid.userTitle) has reached the limit of \(Service.maximumServers) servers with the same patterns; "
                    + "raise the concurrency of one instead")
        }
        let server = servers.insert(
            Server(
                connection: connection, uid: uid, number: number, service: service, concurrency: concurrency))
        self.concurrency[uid, default: 0] += concurrency
        table[service].servers.append(server)
        serverCount += 1
        return server
    }

    /// Ends a server: it gets no further calls. It stays until it holds no call.
    ///
    /// - Returns: The waiting calls that no other server of the service may get. Servers of other services may get them:
    ///   the calls are in the queues of those, too.
    mutating func end(_ id: ServerID) -> [CallID] {
        guard let server = servers[id], !server.isLeaving else { return [] }
        servers[id.index].isLeaving = true
        serverCount -= 1
        table[server.service].servers.removeAll { $0 == id }
        removeIfDone(id)
        let left = table[server.service].servers
        visits += table[server.service].waiting.count
        guard left.isEmpty, let service = table.remove(server.service) else {
            return waitingCalls(in: table[server.service].waiting) { open in
                open.waits(for: server.uid) && left.allSatisfy { open.returnedBy.contains($0) }
            }
        }
        return waitingCalls(in: service.waiting) { $0.waits(for: server.uid) }
    }

    /// The calls that wait and satisfy the predicate, each once, in order.
    private func waitingCalls(in queue: some Sequence<CallID>, where isIncluded: (OpenCall) -> Bool) -> [CallID] {
        let waiting = Set(
            queue.filter { call in
                guard let open = calls[call], open.state == .waiting else { return false }
                return isIncluded(open)
            })
        return waiting.sorted { $0.generation < $1.generation }
    }

    private mutating func removeIfDone(_ id: ServerID) {
        guard let server = servers[id], server.isLeaving, server.calls.isEmpty else { return }
        servers.remove(id)
        let left = concurrency[server.uid, default: 0] - server.concurrency
        concurrency[server.uid] = left > 0 ? left : nil
    }
}

// MARK: - Calls

extension Services {
    /// Adds a call, which then waits.
    mutating func open(
        _ frame: ByteBuffer, for request: RequestID, uid: UInt32, deadline: Duration, byteCount: Int
    ) -> CallID {
        let call = calls.insert(
            OpenCall(request: request, uid: uid, deadline: deadline, byteCount: byteCount, frame: frame))
        if deadlines.count >= deadlineLimit {
            deadlines = Heap(deadlines.unordered.filter { calls[$0.call]?.isAwaited == true })
            deadlineLimit = max(64, 2 * deadlines.count)
        }
        deadlines.insert(Deadline(time: deadline, call: call))
        return call
    }

    /// Hands a waiting call to the server with the most room, or queues it for the services if no server has room.
    ///
    /// - Parameter isReady: Whether a server's connection reads what it is sent.
    /// - Returns: The server; nil if the call was queued.
    mutating func hand(
        _ call: CallID, toOneOf resolution: Resolution, where isReady: (ConnectionSlot) -> Bool
    ) -> ServerID? {
        var best: (id: ServerID, room: Int, turn: UInt64)?
        let returnedBy = calls[call.index].returnedBy
        calls[call.index].servedBy = resolution.registrations.first.map { table[$0.slot].uid }
        for registration in resolution.registrations {
            visits += table[registration.slot].servers.count
            for id in table[registration.slot].servers where !returnedBy.contains(id) {
                let (room, turn) = (servers[id.index].room, servers[id.index].lastTurn)
                guard room > 0, best.map({ (-room, turn) < (-$0.room, $0.turn) }) ?? true,
                    isReady(servers[id.index].connection)
                else { continue }
                best = (id, room, turn)
            }
        }
        guard let best else {
            for registration in resolution.registrations {
                queue(call, for: registration.slot)
            }
            return nil
        }
        assign(call, to: best.id)
        return best.id
    }

    /// Adds a call to the queue of a service.
    private mutating func queue(_ call: CallID, for slot: Int32) {
        let uid = table[slot].uid
        table[slot].queue(call) { calls[$0]?.waits(for: uid) == true }
    }

    /// Whether services that a name resolves to belong to another user.
    func belong(_ resolution: Resolution, toOtherThan uid: UInt32) -> Bool {
        resolution.registrations.first.map { table[$0.slot].uid != uid } ?? false
    }

    /// Whether a server of the services may get the call, now or later.
    func maySend(_ call: CallID, toOneOf resolution: Resolution) -> Bool {
        guard let returnedBy = calls[call]?.returnedBy, returnedBy.count < OpenCall.maximumReturns else { return false }
        return resolution.registrations.contains { registration in
            table[registration.slot].servers.contains { !returnedBy.contains($0) }
        }
    }

    /// Takes the waiting calls out of the queues, in order, because other services may match now.
    private mutating func takeWaiting() -> [CallID] {
        var taken: [CallID] = []
        for slot in table.indices { taken += table[slot].takeWaiting() }
        visits += taken.count
        return waitingCalls(in: taken) { _ in true }
    }

    /// Adds the calls that wait for other services of a user to the queue of a new service, if it matches their names.
    mutating func adoptWaitingCalls(for server: ServerID, where isPermitted: (UnsafeRawBufferPointer) -> Bool) {
        guard let slot = servers[server]?.service else { return }
        let (uid, patterns) = (table[slot].uid, table[slot].key.patterns)
        var queued: [CallID] = []
        for other in table.indices where other != slot && table[other].uid == uid { queued += table[other].waiting }
        visits += queued.count
        let matching = waitingCalls(in: queued) { open in
            open.waits(for: uid)
                && open.frame.withUnsafeReadableBytes { frame in
                    let name = ServiceCall.name(inFrame: frame)
                    return patterns.contains { $0.matches(utf8: name) && ReservedNames.isVisible(name, to: $0) }
                        && isPermitted(name)
                }
        }
        for call in matching { queue(call, for: slot) }
    }

    /// Hands the next waiting call to a server that has room.
    mutating func nextCall(for id: ServerID) -> CallID? {
        guard let server = servers[id], server.room > 0 else { return nil }
        let (call, visited) = table[server.service].takeFirst {
            calls[$0]?.waits(for: server.uid) == true
        } where: {
            calls[$0.index].returnedBy.isEmpty || !calls[$0.index].returnedBy.contains(id)
        }
        visits += visited
        guard let call else { return nil }
        assign(call, to: id)
        return call
    }

    private mutating func assign(_ call: CallID, to server: ServerID) {
        lastTurn += 1
        servers[server.index].calls.insert(call)
        servers[server.index].lastTurn = lastTurn
        calls[call.index].state = .handed(server)
    }

    /// Ends a call that is answered or not awaited any more. If a server holds it, the call stays until the server has
    /// responded.
    ///
    /// - Returns: The server that holds the call.
    mutating func abandon(_ call: CallID) -> ServerID? {
        guard let open = calls[call] else { return nil }
        guard case .handed(let server) = open.state else {
            if case .waiting = open.state { calls.remove(call) }
            return nil
        }
        calls[call.index].state = .abandoned(server)
        calls[call.index].frame = ByteBuffer()
        return server
    }

    /// Removes a call after the response of its server.
    mutating func responded(_ call: CallID) {
        guard let server = calls.remove(call)?.server, servers[server] != nil else { return }
        servers[server.index].calls.remove(call)
        removeIfDone(server)
    }

    /// Takes a call back from a server that has not begun to process it. The call then waits.
    mutating func returned(_ call: CallID) {
        guard case .handed(let server) = calls[call]?.state else { return }
        calls[call.index].state = .waiting
        calls[call.index].returnedBy.append(server)
        guard servers[server] != nil else { return }
        servers[server.index].calls.remove(call)
        removeIfDone(server)
    }

    // MARK: Time

    var nextDeadline: Duration? { deadlines.min?.time }

    /// Takes a call whose time limit has passed and whose answer is awaited; nil if there is none.
    mutating func takeExpired(now: Duration) -> CallID? {
        while let first = deadlines.min, first.time <= now {
            deadlines.removeMin()
            if calls[first.call]?.isAwaited == true { return first.call }
        }
        return nil
    }
}

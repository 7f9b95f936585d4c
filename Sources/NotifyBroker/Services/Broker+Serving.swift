import NotifyCenter
import NotifyLog
import NotifyWire

/// Servers: connections that answer requests.
extension Broker {
    mutating func serve(_ serve: Serve, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let (uid, identity) = (connections[slot].uid, connections[slot].identity)
        let servers = connections[slot].servers.compactMap { services[$0] }
        guard serve.server != 0, !servers.contains(where: { $0.number == serve.server && !$0.isLeaving }) else {
            throw WireError(
                .subscriptionInUse, "server number \(serve.server) is 0 or already in use on this connection")
        }
        guard (1...Limits.maximumConcurrency).contains(serve.concurrency) else {
            throw WireError(
                .invalidArgument, "a server holds 1 to \(Limits.maximumConcurrency) calls, not \(serve.concurrency)")
        }
        guard connections[slot].servers.count < configuration.subscriptionsPerConnection else {
            throw WireError(
                .limitReached,
                "this connection has reached the limit of \(configuration.subscriptionsPerConnection) servers "
                    + "(limits.per_connection.subscriptions)")
        }
        let patterns = try self.patterns(of: serve.patterns)
        scheduler.spend(
            FairScheduler.Cost.subscribe + patterns.count * (FairScheduler.Cost.pattern + services.table.patternCount))
        for pattern in patterns { try access.checkServe(pattern, identity) }
        let holder = services.holder(overlapping: patterns, uid: uid) {
            access.policy.mayServeSome($0, access.identity($1))
        }
        if let holder {
            let pid = connections[holder.connection].pid
            return refuse(slot, request: serve.request, held(holder), detail: UInt64(pid))
        }
        try addServer(Service.Key(identity: identity, patterns: patterns), serve, slot, now: now)
    }

    private func held(_ holder: Server) -> WireError {
        let connection = connections[holder.connection]
        return WireError(
            .serviceHeld,
            "\(connection.uid.userTitle) (pid \(connection.pid)) serves some of these names; "
                + "the servers of a name must run as one user")
    }

    private mutating func addServer(
        _ key: Service.Key, _ serve: Serve, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        let uid = connections[slot].uid
        let isNew = services.table.slot(of: key) == nil
        if isNew { try checkRoom(for: SubscriptionFilter(patterns: key.patterns, object: nil), uid: uid) }
        try ledger.take(.subscriptions, uid: uid)
        let server: ServerID
        do throws(WireError) {
            server = try services.add(
                key, uid: uid, connection: slot, number: serve.server, concurrency: Int(serve.concurrency))
        } catch {
            ledger.change(.subscriptions, by: -1, uid: uid)
            throw error
        }
        connections[slot].servers.append(server)
        chargeRegistrations(of: uid)
        answer(slot, Serving(request: serve.request, server: serve.server))
        if isNew {
            adoptWaitingCalls(for: server)
        }
        sendWaitingCalls(to: server, now: now)
    }

    mutating func endServing(_ frame: EndServing, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let server = connections[slot].servers.first {
            services[$0].map { $0.number == frame.server && !$0.isLeaving } ?? false
        }
        guard let server else {
            throw WireError(.unknownSubscription, "this connection has no server \(frame.server)")
        }
        for call in end(server, of: slot) { handOver(call, from: connections[slot].uid, now: now) }
        answer(slot, ServingEnded(request: frame.request, server: frame.server))
    }

    private mutating func adoptWaitingCalls(for server: ServerID) {
        let visits = services.visits
        Self.adoptWaitingCalls(for: server, &services, access)
        scheduler.spend((services.visits - visits) * FairScheduler.Cost.delivery)
    }

    private static func adoptWaitingCalls(
        for server: ServerID, _ services: inout Services, _ access: AccessControl
    ) {
        guard let slot = services[server]?.service else { return }
        let identity = services.table[slot].key.identity
        services.adoptWaitingCalls(for: server) { name in
            access.permits(access.policy.nameRules(.serve, name), identity)
        }
    }

    /// Ends a server, which may still respond to the calls that it holds.
    ///
    /// - Returns: The waiting calls that no other server of its service may get.
    private mutating func end(_ server: ServerID, of slot: ConnectionSlot) -> [CallID] {
        let uid = connections[slot].uid
        let isCounted = services[server].map { !$0.isLeaving } ?? false
        let visits = services.visits
        let waiting = services.end(server)
        scheduler.spend((services.visits - visits) / FairScheduler.Cost.visitsPerUnit)
        if isCounted { ledger.change(.subscriptions, by: -1, uid: uid) }
        if services[server] == nil { connections[slot].servers.removeAll { $0 == server } }
        chargeRegistrations(of: uid)
        return waiting
    }

    /// Ends the servers of a connection that ends. The askers of the calls that they hold get
    /// `serverGone`.
    mutating func endServers(of slot: ConnectionSlot, now: BrokerTime) {
        guard !connections[slot].servers.isEmpty else { return }
        // All servers end first, so that no call is handed from one to another.
        var orphans: Set<CallID> = []
        let servers = connections[slot].servers
        for server in servers { orphans.formUnion(end(server, of: slot)) }
        for server in servers {
            for call in (services[server]?.calls ?? []).sorted(by: { $0.number < $1.number }) {
                if services[call]?.isAwaited == true {
                    let text = "the server's connection has ended; the request may have been executed"
                    fail(call, WireError(.serverGone, text), isResponse: true)
                }
                end(heldCall: call)
            }
        }
        for call in orphans.sorted(by: { $0.generation < $1.generation }) {
            handOver(call, from: connections[slot].uid, now: now)
        }
        connections[slot].servers = []
    }
}

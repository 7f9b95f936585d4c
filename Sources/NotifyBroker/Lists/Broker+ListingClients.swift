import NotifyCenter
import NotifyLog
import NotifyWire

/// The list entries of connections, and of their volatile subscriptions and servers.
extension Broker {
    mutating func listClient(_ visited: ConnectionSlot, of uid: UInt32?, for slot: ConnectionSlot, request: UInt64) {
        guard visit(visited, of: uid) != nil else { return }
        scheduler.spend(FairScheduler.Cost.listEntry)
        answer(slot, clientEntry(visited, request: request))
    }

    /// Prepares to list the volatile subscriptions and the servers of a connection.
    mutating func visitSubscriber(_ visited: ConnectionSlot, of uid: UInt32?, for slot: ConnectionSlot) {
        guard let id = visit(visited, of: uid) else { return }
        let numbers = connections[visited].subscriptions.compactMap { number, subscription in
            if case .volatile = subscription { number } else { nil }
        }
        let servers = connections[visited].servers
        scheduler.spend(connections[visited].subscriptions.count + servers.count)
        connections[slot].listing?.source.visited(id, volatiles: numbers.sorted(), servers: servers)
    }

    /// Visits the connection in a slot.
    ///
    /// - Returns: The connection; nil if the list skips it. Connections that are being closed are skipped, because
    ///   their subscriptions have ended.
    private mutating func visit(_ visited: ConnectionSlot, of uid: UInt32?) -> ConnectionID? {
        scheduler.spend(FairScheduler.Cost.listVisit)
        guard let id = connections.id(in: visited), !connections[visited].session.isClosing,
            uid == nil || connections[visited].uid == uid
        else { return nil }
        return id
    }

    mutating func listVolatile(
        _ number: UInt32, of connection: ConnectionID, for slot: ConnectionSlot, request: UInt64
    ) {
        // The connection may have been closed, or the subscription ended, since the connection was visited.
        guard connections.contains(connection),
            case .volatile(let links)? = connections[connection.slot].subscriptions[number]
        else { return }
        scheduler.spend(FairScheduler.Cost.listEntry + links.count * FairScheduler.Cost.listPattern)
        answer(slot, entry(links, of: connection.slot, request: request))
    }

    mutating func listServer(
        _ server: ServerID, of connection: ConnectionID, for slot: ConnectionSlot, request: UInt64
    ) {
        // The server may have ended since the connection was visited, and may still hold requests.
        guard connections.contains(connection), let server = services[server], !server.isLeaving else { return }
        let patterns = services.table[server.service].key.patterns
        scheduler.spend(FairScheduler.Cost.listEntry + patterns.count * FairScheduler.Cost.listPattern)
        let (pid, number) = (connections[connection.slot].pid, connections[connection.slot].number)
        let entry = SubscriptionEntry(
            request: request, uid: server.uid, pid: pid, client: number, unacknowledged: UInt32(server.calls.count),
            concurrency: UInt32(server.concurrency), patterns: patterns.map(\.description))
        answer(slot, entry)
    }

    private func entry(_ links: [SubscriptionLink], of slot: ConnectionSlot, request: UInt64) -> SubscriptionEntry {
        let (uid, pid, number) = (connections[slot].uid, connections[slot].pid, connections[slot].number)
        let filter = subscriptions.filter(of: links, uid: uid)
        return SubscriptionEntry(
            request: request, uid: uid, pid: pid, client: number, object: filter.object ?? "",
            patterns: filter.patterns)
    }

    private func clientEntry(_ slot: ConnectionSlot, request: UInt64) -> ClientEntry {
        let connection = connections[slot]
        return ClientEntry(
            request: request, client: connection.number, connectedMicroseconds: connection.openedMicroseconds,
            uid: connection.uid, gid: connection.gid, pid: connection.pid,
            subscriptions: UInt32(connection.subscriptions.count), posts: connection.counters.posts,
            refused: connection.counters.refused, delivered: egress[slot].messageCount,
            dropped: connection.counters.dropped, droppedByClient: connection.counters.droppedByClient,
            waitingBytes: UInt64(egress[slot].waitingBytes))
    }
}

import NotifyWire

/// The greeting of a client, or the end of a greeted connection, to be posted.
struct PresenceNotice {
    enum Event: String {
        case connected
        case disconnected
    }

    let event: Event
    let uid: UInt32
    let gid: UInt32
    let pid: UInt32
    /// The number of the connection, as in lists of clients.
    let connection: UInt64

    var name: String { "notifyd.clients.\(uid).\(event.rawValue)" }
    var payload: String { "{\"uid\":\(uid),\"gid\":\(gid),\"pid\":\(pid),\"connection\":\(connection)}" }
}

/// Notices under `notifyd.clients`, if the configuration asks for them. By default only root and the daemon's user may
/// receive them.
extension Broker {
    /// Posts that a client has been greeted. Earlier ends of connections are posted first, so that the notices are in
    /// the order of events.
    mutating func noteConnected(_ slot: ConnectionSlot, now: BrokerTime) {
        guard configuration.postsPresence else { return }
        presenceNotices.append(notice(.connected, of: slot))
        postPresenceNotices(now: now)
    }

    /// Records the end of a connection. It is posted at the end of the tick, because a connection can end while outboxes
    /// are flushed, when nothing may be published.
    mutating func noteDisconnected(_ slot: ConnectionSlot) {
        guard configuration.postsPresence, connections[slot].session.wasGreeted else { return }
        if presenceNotices.isEmpty { actions.append(.scheduleTick) }
        presenceNotices.append(notice(.disconnected, of: slot))
    }

    /// Posts the recorded notices, unless the daemon is draining.
    mutating func postPresenceNotices(now: BrokerTime) {
        let notices = presenceNotices
        presenceNotices.removeAll()
        guard connections.drain == .notBegun else { return }
        for notice in notices { publish(notice, now: now) }
    }

    private func notice(_ event: PresenceNotice.Event, of slot: ConnectionSlot) -> PresenceNotice {
        let connection = connections[slot]
        return PresenceNotice(
            event: event, uid: connection.uid, gid: connection.gid, pid: connection.pid, connection: connection.number)
    }

    private mutating func publish(_ notice: PresenceNotice, now: BrokerTime) {
        let (name, payload) = (Array(notice.name.utf8), Array(notice.payload.utf8))
        name.withUnsafeBytes { name in
            payload.withUnsafeBytes { payload in
                let empty = UnsafeRawBufferPointer(start: nil, count: 0)
                publish(
                    MessageParts(name: name, object: empty, messageID: empty, headers: empty, payload: payload),
                    now: now)
            }
        }
    }
}

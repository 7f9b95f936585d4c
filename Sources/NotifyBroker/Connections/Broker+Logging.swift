import NotifyCenter
import NotifyLog
import NotifyWire

/// Events for the daemon's log.
extension Broker {
    /// The level of detail up to which events are reported as `log` actions.
    package var logDetail: LogDetail {
        get { actions.logDetail }
        set { actions.logDetail = newValue }
    }

    /// Whether events of this detail are reported. Checked before an event is created.
    @inline(__always)
    func logs(_ detail: LogDetail) -> Bool { actions.logDetail >= detail }

    mutating func log(_ kind: BrokerEvent.Kind, on slot: ConnectionSlot) {
        let connection = connections[slot]
        actions.append(
            .log(BrokerEvent(kind: kind, connection: connection.id, uid: connection.uid, pid: connection.pid)))
    }

    mutating func logPost(_ post: Post, from slot: ConnectionSlot) {
        log(
            .posted(
                request: post.request, name: String(decoding: post.parts.name, as: UTF8.self),
                object: String(decoding: post.parts.object, as: UTF8.self), payloadBytes: post.parts.payload.count,
                durability: post.durability),
            on: slot)
    }

    mutating func logSubscription(
        _ number: UInt32, _ filter: SubscriptionFilter, durableName: String? = nil, on slot: ConnectionSlot
    ) {
        log(
            .subscribed(
                number: number, patterns: filter.patterns.map(\.description), object: filter.object,
                durableName: durableName),
            on: slot)
    }

    mutating func logRemoval(of slot: DurableSlot, by connection: ConnectionID) {
        guard logs(.debug), connections.contains(connection) else { return }
        log(.removed(durableName: durables[slot].name, uid: durables[slot].uid), on: connection.slot)
    }
}

import NotifyWire

/// Events for the log.
extension Broker {
    /// How much is reported as `log` actions.
    package var logDetail: LogDetail {
        get { actions.logDetail }
        set { actions.logDetail = newValue }
    }

    /// Whether events of this detail are reported: asked before one is made.
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

    mutating func logSubscription(_ subscribe: Subscribe, on slot: ConnectionSlot) {
        log(
            .subscribed(
                number: subscribe.subscription, patterns: subscribe.patterns,
                object: subscribe.object.isEmpty ? nil : subscribe.object,
                durableName: subscribe.durableName.isEmpty ? nil : subscribe.durableName),
            on: slot)
    }
}

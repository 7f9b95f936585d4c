import NotifyWire

/// The number of members of each client on each of its connections.
struct Presences {
    private struct Key: Hashable {
        let instance: InstanceID
        let connection: ConnectionID
    }

    private var counts: [InstanceID: Int] = [:]
    private var countsByConnection: [Key: Int] = [:]

    /// Whether a client has members on other connections than the given one.
    func isElsewhere(_ instance: InstanceID, than connection: ConnectionID) -> Bool {
        counts[instance, default: 0] > countsByConnection[Key(instance: instance, connection: connection), default: 0]
    }

    mutating func change(_ attachment: Attachment, by difference: Int) {
        let key = Key(instance: attachment.instance, connection: attachment.connection)
        let (count, own) = (counts[key.instance, default: 0], countsByConnection[key, default: 0])
        counts[key.instance] = count + difference == 0 ? nil : count + difference
        countsByConnection[key] = own + difference == 0 ? nil : own + difference
    }
}

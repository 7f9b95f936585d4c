/// What the host is to do, in order.
struct ActionQueue {
    private var actions: [BrokerAction] = []
    /// Events of this detail are among them.
    var logDetail = LogDetail.none

    mutating func append(_ action: BrokerAction) {
        actions.append(action)
    }

    /// Takes all actions. Taking them empties the queue.
    mutating func take() -> [BrokerAction] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }
}

/// Pending actions for the host, in order.
struct ActionQueue {
    private var actions: [BrokerAction] = []
    /// The level of detail up to which events are reported as `log` actions.
    var logDetail = LogDetail.none

    mutating func append(_ action: BrokerAction) {
        actions.append(action)
    }

    /// Takes all actions and empties the queue.
    mutating func take() -> [BrokerAction] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }
}

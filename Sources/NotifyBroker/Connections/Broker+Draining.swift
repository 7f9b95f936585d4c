import NotifyWire

/// Draining: the orderly stop of the daemon.
extension Broker {
    /// Begins draining: ignores frames that arrive later, commits everything accepted so far, and then sends `closing`
    /// to every client whose connection has not failed. The action `drained` reports the end.
    package mutating func drainRequested() {
        guard connections.drain == .notBegun else { return }
        connections.drainBegan()
        refuseStoreRequests()
        failCalls()
        removeAnnouncements()
        logAllLosses()
        for slot in connections.slots {
            for case .durable(let durable, _) in connections[slot].subscriptions.values {
                detachAll(durable)
            }
            connections[slot].subscriptions = connections[slot].subscriptions.filter {
                if case .volatile = $0.value { true } else { false }
            }
        }
        for slot in durables.slots where durables[slot].state != .removing {
            durables.noteProgress(slot)
        }
        commits.requestCommit()
    }

    mutating func finishDrain() {
        guard connections.drain == .committing, commits.isIdle else { return }
        connections.drainFinished()
        for slot in connections.slots where !connections[slot].session.isClosing {
            answer(slot, Closing(lastRequest: connections[slot].session.lastRequest))
        }
        actions.append(.drained)
    }
}

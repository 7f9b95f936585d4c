extension BrokerHost {
    /// Runs a tick: processes queued connections, ends the tick in the broker, performs the actions, and writes the
    /// output of each touched connection as far as its socket has room.
    package func runTick() {
        let core = core
        core.broker.beginServingQueue()
        while let id = core.broker.nextQueuedConnection() {
            continueReceiving(id)
        }
        core.broker.finishTick(now: now)
        sequencesUsed(below: core.broker.nextSequence)
        performActions(core)
        for id in core.broker.takeTouchedConnections() {
            flushOutbox(of: id, core)
        }
        performActions(core)
        if let deadline = core.broker.nextDeadline { wake(at: deadline) }
    }

    private func flushOutbox(of id: ConnectionID, _ core: BrokerCore) {
        guard let sink = sink(id) else { return }
        var isEmpty = false
        while !isEmpty, !sink.isBlocked {
            var hasWritten = false
            while sink.hasRoom {
                guard let bytes = core.broker.nextOutput(for: id) else {
                    isEmpty = true
                    break
                }
                sink.write(bytes)
                hasWritten = true
            }
            if hasWritten { sink.flush() }
        }
        switch core.broker.settle(id, isBlocked: sink.isBlocked, now: now) {
        case .closed: sink.closeWhenFlushed()
        case .open: break
        }
    }

    private func performActions(_ core: BrokerCore) {
        for action in core.broker.takeActions() {
            perform(action)
        }
    }
}

extension BrokerHost {
    /// Carries out a tick: ends it in the broker, performs the actions, and gives each touched connection's bytes to its
    /// socket, as far as that has room.
    package func runTick() {
        let core = core
        core.broker.finishTick(now: now)
        sequencesUsed(below: core.broker.nextSequence)
        performActions(core)
        for id in core.broker.takeTouchedConnections() {
            flushOutbox(of: id, core)
        }
        performActions(core)
        if let deadline = core.broker.nextDeadline { wake(at: deadline) }
    }

    /// The time that `wake(at:)` named has come.
    package func deadlinePassed() {
        core.broker.deadlinePassed(now: now)
        runTick()
    }

    private func flushOutbox(of id: ConnectionID, _ core: BrokerCore) {
        guard let sink = sink(id) else { return }
        var hasWritten = false
        while sink.hasRoom, let bytes = core.broker.nextOutput(for: id) {
            sink.write(bytes)
            hasWritten = true
        }
        switch core.broker.settle(id, now: now) {
        case .closed: sink.closeWhenFlushed()
        case .open where hasWritten: sink.flush()
        case .open: break
        }
    }

    private func performActions(_ core: BrokerCore) {
        for action in core.broker.takeActions() {
            perform(action)
        }
    }
}

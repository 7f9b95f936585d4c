extension BrokerHost {
    /// Carries out a tick: ends it in the broker, performs the actions, and gives each touched connection's bytes to its
    /// socket, as far as that has room.
    package func runTick() {
        core.broker.finishTick(now: now)
        sequencesUsed(below: core.broker.nextSequence)
        performActions()
        for id in core.broker.takeTouchedConnections() {
            flushOutbox(of: id)
        }
        performActions()
        if let deadline = core.broker.nextDeadline { wake(at: deadline) }
    }

    /// The time that `wake(at:)` named has come.
    package func deadlinePassed() {
        core.broker.deadlinePassed(now: now)
        runTick()
    }

    private func flushOutbox(of id: ConnectionID) {
        var hasWritten = false
        while hasRoom(id), let bytes = core.broker.nextOutput(for: id) {
            write(bytes, to: id)
            hasWritten = true
        }
        core.broker.settle(id, now: now)
        if core.broker.isClosing(id), core.broker.isFlushed(id) {
            closeWhenFlushed(id)
        } else if hasWritten {
            flush(id)
        }
    }

    private func performActions() {
        for action in core.broker.takeActions() {
            if case .continueSoon = action { scheduleTick() } else { perform(action) }
        }
    }
}

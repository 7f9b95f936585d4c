extension BrokerHost {
    /// Runs a tick: processes queued connections, ends the tick in the broker, performs the actions, and writes the
    /// output of touched connections as far as their sockets have room and the budget of the turn allows.
    package func runTick() {
        let core = core
        core.broker.beginServingQueue()
        while let id = core.broker.nextQueuedConnection() {
            continueReceiving(id)
        }
        core.broker.finishTick(now: now)
        sequencesUsed(below: core.broker.nextSequence)
        performActions(core)
        // One time for all connections: reading the clocks takes a part of the time of a flush.
        let time = now
        while let id = core.broker.nextTouchedConnection() {
            flushOutbox(of: id, core, now: time)
        }
        performActions(core)
        if let deadline = core.broker.nextDeadline { wake(at: deadline) }
    }

    private func flushOutbox(of id: ConnectionID, _ core: BrokerCore, now: BrokerTime) {
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
        let (isBlocked, socketBytes) = (sink.isBlocked, sink.socketBytes)
        switch core.broker.settle(id, isBlocked: isBlocked, socketBytes: socketBytes, now: now) {
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

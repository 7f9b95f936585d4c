/// The end of a tick.
extension Broker {
    /// Ends a tick: readers continue, the next batch begins, and the spans of every touched connection become chunks
    /// that the host can take.
    package mutating func finishTick(now: BrokerTime) {
        turnEnded()
        durables.setTime(now)
        continueReaders(now: now)
        requestRedeliveries(now: now)
        beginStoreRequests(now: now)
        finishDrain()
        if egress.usesOpenBlock { egress.openBlockEnded(commits.sealOpenBlock()) }
        beginCommit(now: now)
        let counts = egress.seal()
        evictIfNeeded()
        statistics.delivered += counts.delivered
        statistics.redelivered += counts.redelivered
    }
}

/// The end of a tick.
extension Broker {
    /// Ends a tick: continues readers, begins the next batch, and turns the spans of every touched connection into
    /// chunks for the host.
    package mutating func finishTick(now: BrokerTime) {
        turnEnded()
        if !presenceNotices.isEmpty { postPresenceNotices(now: now) }
        durables.setTime(now)
        if services.isRematchDue { sendUnmatchedCalls(now: now) }
        if announcements.haveChanged { wakeValueReadsForAnnouncements() }
        continueReaders(now: now)
        requestRedeliveries(now: now)
        if announcements.hasEndings { continueAnnouncements(now: now) }
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

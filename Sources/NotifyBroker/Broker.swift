import NotifyCenter
package import NotifyLog
package import NotifyWire

/// The logic of the daemon: checks rights, routes messages, and answers requests. A request that changes the log is
/// answered after the commit.
///
/// The broker is pure and synchronous. Its input is events, with the time as an argument. Its output is actions for the
/// host, and bytes in outboxes. It is composed of state machines, each with its own state. It is not thread-safe, and
/// confined to one event loop. A `BrokerHost` drives it.
package struct Broker: ~Copyable {
    private(set) var configuration: BrokerConfiguration
    private(set) var daemon: DaemonInfo

    var access: AccessControl
    var ledger: Ledger
    var connections = Connections()
    var scheduler = FairScheduler()
    var subscriptions: Subscriptions
    var egress = Egress()
    var commits: CommitPipeline
    var pages: PageReads
    var durables: DurableSubscriptions
    var recorder = PostRecorder()
    var storeRequests = StoreRequests()
    var services = Services()
    var values: Values
    var announcements = Announcements()
    var warnings = Warnings()
    /// The notices to be posted at the end of the tick.
    var presenceNotices: [PresenceNotice] = []

    var actions = ActionQueue()
    var statistics = BrokerStatistics()

    /// Information about the daemon, for clients.
    package struct DaemonInfo: Sendable {
        var version: String
        /// Random; different after every start.
        var instance: InstanceID
        var started: BrokerTime
        /// The uid, gid and pid in the stamps of the daemon's own posts.
        var process: Peer
        /// Why the last reload of the configuration failed; nil if it succeeded.
        fileprivate(set) var configurationProblem: String?

        package init(version: String, instance: InstanceID, started: BrokerTime, process: Peer) {
            self.version = version
            self.instance = instance
            self.started = started
            self.process = process
        }
    }

    package init(
        configuration: BrokerConfiguration, policy: AccessPolicy = AccessPolicy(), recovered: RecoveredLog,
        daemon: DaemonInfo
    ) {
        self.configuration = configuration
        self.daemon = daemon
        access = AccessControl(policy: policy, limits: configuration.userLimits)
        ledger = Ledger(configuration, names: recovered.names, stored: recovered.usage)
        subscriptions = Subscriptions(
            maximumOverlap: configuration.patternOverlapPerUser, maximumCacheBytes: configuration.cacheBytes)
        commits = CommitPipeline(configuration, recovered: recovered)
        pages = PageReads(
            readers: LogReaders(
                ring: TailRing(capacityBytes: configuration.tailRingBytes, floor: recovered.persistedThrough)))
        values = Values(recovered)
        durables = DurableSubscriptions(
            nextID: recovered.nextSubscriptionID, areComplete: !recovered.isMissingSubscriptions)
        for record in recovered.subscriptions {
            recover(
                record, recovered.redeliveries[record.id] ?? [], failure: recovered.failureReasons[record.id])
        }
        charge(values.usage)
        if commits.health.isFailing { reportHealth() }
    }

    /// Whether a sequence is available for the next post.
    package var isReady: Bool { commits.sequencer.isReady }

    /// The next sequence, recorded at a clean stop. This sequence and higher ones were never used.
    package var nextSequence: UInt64 { commits.sequencer.next }

    /// Takes the pending actions, in order, and empties the queue.
    package mutating func takeActions() -> [BrokerAction] { actions.take() }

    // MARK: Time

    /// The time by which `deadlinePassed` must be called, followed by a tick, which begins a due commit. Nil if there
    /// is no deadline.
    @inline(__always)
    package var nextDeadline: Duration? { .earlier(workDeadline, warnings.deadline) }

    /// The earliest deadline other than that of the next check for warnings.
    @inline(__always)
    var workDeadline: Duration? {
        // While many redeliveries are unsaved, the deadlines and retry delays of durable subscriptions are not handled,
        // so a wake-up for these would be useless. They are handled again after the outcome of the next batch.
        let deadline = Duration?.earlier(
            .earlier(commits.nextDeadline(pageStarted: readStarted), connections.nextDeadline),
            .earlier(
                .earlier(ledger.rates.nextDeadline, durables.unsavedRedeliveries.areMany ? nil : durables.nextTime),
                .earlier(
                    .earlier(durables.backlogs.deadline, durables.lossLog.deadline),
                    .earlier(
                        .earlier(egress.unreadSockets.deadline, services.nextDeadline),
                        .earlier(backupDeadline, announcements.nextDeadline)))))
        return recorder.isRecording ? .earlier(deadline, recorder.deadline) : deadline
    }

    /// The time of the oldest read that the store has not answered; nil if there is none.
    @inline(__always)
    private var readStarted: Duration? {
        .earlier(.earlier(pages.started, storeRequests.shortWorkStarted), durables.redeliveryReads.started)
    }

    /// Handles every deadline that has passed. The deadlines are those of connections, rate limits, unread sockets,
    /// durable subscriptions, requests for lists (which wait for backlog counts), reports of lost messages in the
    /// daemon's log, the store's response, requests to servers, announced values, monitors, backups and warnings. Does
    /// not begin a due commit: the next tick does.
    package mutating func deadlinePassed(now: BrokerTime) {
        for slot in connections.takeExpired(now: now.monotonic) {
            if connections[slot].session.isClosing {
                close(slot, now: now)
            } else {
                fail(
                    slot, WireError(.greetingTimeout, "no hello within \(configuration.greetingTimeout.text)"), now: now
                )
            }
        }
        for id in ledger.rates.takeReady(now: now.monotonic) where connections.contains(id) {
            resume(id.slot, .rateExceeded)
        }
        measureSockets(now: now.monotonic)
        timeOfDurablesPassed(now: now)
        expireBacklogs(now: now.monotonic)
        logLosses(now: now.monotonic)
        endIdleBackup(now: now.monotonic)
        endExpiredCalls(now: now.monotonic)
        announcements.expire(now: now.monotonic)
        if recorder.isRecording { expireMonitoring(now: now.monotonic) }
        if commits.checkResponseDeadline(pageStarted: readStarted, now: now.monotonic) {
            reportHealth()
            resumePausedConnections()
        }
        if let deadline = warnings.deadline, deadline <= now.monotonic {
            if connections.drain == .notBegun { checkWarnings(now: now) } else { warnings = Warnings() }
        }
    }

    mutating func reportHealth() {
        actions.append(.storageHealthChanged(problem: commits.health.problem))
        // Requests that wait for a probe are answered now, because a disk that does not respond may never end the
        // probe.
        if commits.health.failure != nil { answerProbes() }
    }

    // MARK: Reloading

    /// Why the last reload of the configuration failed; nil if it succeeded.
    package var configurationProblem: String? {
        get { daemon.configurationProblem }
        set { daemon.configurationProblem = newValue }
    }

    /// Replaces limits and timeouts. If a limit is lowered, existing connections and subscriptions above it stay. New
    /// requests above the limit are refused. Waiting volatile messages above the limit are dropped when their
    /// connection is flushed next.
    ///
    /// `maximumPayloadBytes` and `postWindow` do not change, because they were announced to the clients.
    package mutating func configurationChanged(to new: BrokerConfiguration) {
        var new = new
        new.maximumPayloadBytes = configuration.maximumPayloadBytes
        new.postWindow = configuration.postWindow
        new.receivedBytesPerUser = max(
            new.receivedBytesPerUser, new.maximumPayloadBytes + Limits.frameOverheadBytes)
        configuration = new
        ledger.limitsChanged(to: new)
        access.limitsChanged(to: new.userLimits)
        for id in ledger.rates.takeAll() where connections.contains(id) { resume(id.slot, .rateExceeded) }
        subscriptions.limitsChanged(
            maximumOverlap: new.patternOverlapPerUser, maximumCacheBytes: new.cacheBytes)
        ledger.isEvicting = false
        pages.readers.limitRing(toBytes: new.tailRingBytes)
        evictIfNeeded()
    }

    package var policy: AccessPolicy { access.policy }

    /// Replaces the policy. The new policy applies to later requests, and to all messages that are not in an outbox
    /// yet.
    package mutating func policyChanged(to policy: AccessPolicy) {
        access.policyChanged(to: policy)
        subscriptions.rightsChanged()
        durables.backlogs.forgetAll()
        services.rightsChanged()
        for slot in durables.slots {
            durables[slot].rightsChanged()
            durables.redeliveryReads.wake(slot, isNeeded: durables[slot].mayNeedRights)
        }
        actions.append(.scheduleTick)
        recorder.monitors.discardRecorded()
        // Watches read all values again.
        pages.values.committed()
    }
}

import NotifyCenter
package import NotifyLog
package import NotifyWire

/// The decisions of the daemon: who may do what, where each message goes, and what must be stored before a client
/// receives its answer.
///
/// Pure and synchronous. Input is events, with the time as an argument; output is actions for the host and bytes in
/// outboxes. The broker composes machines that each keep their own state, and connects them. It is confined to one
/// event loop and not thread-safe; a `BrokerHost` drives it.
package struct Broker: ~Copyable {
    let configuration: BrokerConfiguration
    let daemon: DaemonInfo

    var access: AccessControl
    var ledger: Ledger
    var connections = Connections()
    var scheduler = FairScheduler()
    var subscriptions: Subscriptions
    var egress = Egress()
    var commits: CommitPipeline
    var readers: LogReaders
    var durables: DurableSubscriptions

    /// Whether caches are reduced because users hold most of the memory.
    var isEvicting = false
    var actions = ActionQueue()
    var statistics = BrokerStatistics()

    /// What the daemon reports about itself.
    package struct DaemonInfo: Sendable {
        var version: String
        /// Random; different after every start.
        var instance: InstanceID
        var started: BrokerTime

        package init(version: String, instance: InstanceID, started: BrokerTime) {
            self.version = version
            self.instance = instance
            self.started = started
        }
    }

    package init(
        configuration: BrokerConfiguration, policy: AccessPolicy = AccessPolicy(), recovered: RecoveredLog,
        daemon: DaemonInfo
    ) {
        self.configuration = configuration
        self.daemon = daemon
        access = AccessControl(policy: policy)
        ledger = Ledger(configuration)
        subscriptions = Subscriptions(
            maximumOverlap: configuration.patternOverlapPerUser, maximumCacheBytes: configuration.memoryBytes / 8)
        commits = CommitPipeline(configuration, recovered: recovered)
        readers = LogReaders(
            ring: TailRing(capacityBytes: configuration.tailRingBytes, floor: recovered.persistedThrough))
        durables = DurableSubscriptions(nextID: recovered.nextSubscriptionID)
        for record in recovered.subscriptions {
            recover(record)
        }
    }

    /// Whether a sequence is available for the next post.
    package var isReady: Bool { commits.sequencer.isReady }

    /// The next sequence, recorded at a clean stop: no sequence from here on was ever used.
    package var nextSequence: UInt64 { commits.sequencer.next }

    /// Takes the pending actions, in order, and empties the queue.
    package mutating func takeActions() -> [BrokerAction] { actions.take() }

    // MARK: Time

    /// The time by which `deadlinePassed` must be called; nil if there is no deadline.
    @inline(__always)
    package var nextDeadline: Duration? {
        .earlier(commits.nextDeadline(pageStarted: readers.pageStarted), connections.nextDeadline)
    }

    /// Acts on deadlines: closes connections that are late with their hello or with reading a final error, and reports
    /// a store that does not answer.
    package mutating func deadlinePassed(now: BrokerTime) {
        for slot in connections.takeExpired(now: now.monotonic) {
            if connections[slot].session.isClosing {
                close(slot)
            } else {
                fail(
                    slot, WireError(.greetingTimeout, "no hello within \(configuration.greetingTimeout.text)"), now: now
                )
            }
        }
        if commits.checkResponseDeadline(pageStarted: readers.pageStarted, now: now.monotonic) { reportHealth() }
    }

    mutating func reportHealth() {
        actions.append(.storageHealthChanged(problem: commits.health.problem))
    }

    // MARK: Rights

    /// Replaces the policy. It applies to everything that is not in an outbox yet.
    package mutating func policyChanged(to policy: AccessPolicy) {
        access.policyChanged(to: policy)
        subscriptions.rightsChanged()
    }
}

import NotifyCenter
package import NotifyLog
package import NotifyWire

/// What the daemon decides: who may do what, which message goes where, and what must be stored before a client hears of
/// it.
///
/// Pure and synchronous: events come in, with the time as an argument; actions for the host and bytes in outboxes come
/// out. It composes machines that each keep their own state, and connects them. It lives on one event loop and is not
/// thread-safe; a `BrokerHost` drives it.
package struct Broker: ~Copyable {
    let configuration: BrokerConfiguration
    let daemon: DaemonInfo

    var access: AccessControl
    var ledger: Ledger
    var connections = Connections()
    var turns = Turns()
    var subscriptions: Subscriptions
    var egress = Egress()
    var commits: CommitPipeline
    var readers: LogReaders
    var durables: DurableSubscriptions

    /// Caches are kept small, as users hold most of the memory.
    var isEvicting = false
    var actions = ActionQueue()
    var statistics = BrokerStatistics()

    /// What the daemon reports of itself.
    package struct DaemonInfo: Sendable {
        var version: String
        /// Other bytes after every start.
        var instance: ClientInstance
        var started: BrokerTime

        package init(version: String, instance: ClientInstance, started: BrokerTime) {
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

    /// Whether there are sequences for posts.
    package var isReady: Bool { commits.sequencer.isReady }

    /// The memory that all clients together are charged with.
    package var chargedBytes: Int { ledger.totalBytes }

    /// The mark for a clean stop: no sequence from here on was ever used.
    package var nextSequence: UInt64 { commits.sequencer.next }

    /// What is to be done, in order. Taking it empties the list.
    package mutating func takeActions() -> [BrokerAction] { actions.take() }

    // MARK: Time

    /// When `deadlinePassed` is to be called, at the latest.
    package var nextDeadline: Duration? {
        .earlier(commits.nextDeadline(pageStarted: readers.pageStarted), connections.nextDeadline)
    }

    /// Time has passed: late greetings and goodbyes end, and a store that does not answer is reported.
    package mutating func deadlinePassed(now: BrokerTime) {
        for slot in connections.takeLate(now: now.monotonic) {
            if connections[slot].session.isClosing {
                close(slot)
            } else {
                fail(slot, WireError(.greetingTimeout, "no hello within \(configuration.greetingTimeout)"), now: now)
            }
        }
        if commits.noteSilence(pageStarted: readers.pageStarted, now: now.monotonic) { reportHealth() }
    }

    mutating func reportHealth() {
        actions.append(.storageHealthChanged(problem: commits.health.problem))
    }

    // MARK: Rights

    /// Other rights hold from now on, for everything that is not in an outbox yet.
    package mutating func policyChanged(to policy: AccessPolicy) {
        access.policyChanged(to: policy)
        subscriptions.rightsChanged()
    }
}

import NIOCore
import NotifyCenter
package import NotifyLog
package import NotifyWire

/// What the daemon decides: who may do what, which message goes where, and what must be stored before whom is told.
///
/// Pure and synchronous. It is told what happened, with the time as an argument, and leaves actions for the shell and
/// bytes in outboxes. It lives on one event loop and is not thread-safe. A tick is: any number of events, `finishTick`,
/// the actions, then for each touched connection `nextOutput` while its socket takes bytes, and `settle`.
package struct Broker: ~Copyable {
    let configuration: BrokerConfiguration
    let daemonVersion: String
    let daemonInstance: ClientInstance
    let started: Moment

    // The center: every subscription is a registration in it, and every delivery goes through it. A registration's
    // slot is the connection's for a volatile subscription, and the complement of the reader's for a durable one.
    var center: CenterCore
    var connections = SlotTable<Connection>()
    /// By the connection's slot; a free slot's outbox is empty.
    var outboxes: ContiguousArray<Outbox> = []
    /// Slots of connections that have a deadline.
    var timedConnections: Set<Int> = []
    /// None of theirs is earlier. Kept, as finding it anew in every tick would let a crowd that says no hello slow all.
    var earliestTimeout: Duration?
    var accounts = Accounts()
    var storedNames = StoredNames()
    var volatileSubscriptions = 0

    var readers: ContiguousArray<DurableReader> = []
    var freeReaders: [Int] = []
    var readerSlots: [DurableKey: Int] = [:]
    /// By the id that the store knows it under.
    var readersByID: [UInt32: Int] = [:]
    var nextReaderID: UInt32
    /// Readers that may have something to read.
    var readersToRead: Set<Int> = []
    /// Readers whose page could not be read, for when that is tried again.
    var readersToRetry: Set<Int> = []
    /// Readers behind the ring.
    var pageQueue = PageQueue()
    /// By the reader's slot: the run that is being put together for it.
    var openRuns: ContiguousArray<OpenRun?> = []
    var readersWithRuns: [Int] = []
    /// Readers whose progress waits to be persisted.
    var dirtyReaders: Set<Int> = []
    /// How many readers a client holds.
    var heldReaders = 0
    /// Held readers at the end of the log.
    var liveReaders: Set<Int> = []

    var sequencer: Sequencer
    var pending = PendingLog()
    var running: RunningBatch?
    var nextBatchID: UInt64 = 1
    var ring: TailRing
    /// The highest sequence that is in the log.
    var persistedThrough: UInt64
    /// When progress must be persisted, or a failed commit tried again.
    var commitDeadline: Duration?
    var storageProblem: String?
    /// A slice of the log's open block is on its way, so that the block may not grow any more.
    var isOpenBlockShared = false
    /// Connections that are not read from until the log has caught up.
    var waitingForLog: Set<Int> = []

    var volatileWriter = BlockWriter()
    /// The tick's complete sources: blocks of the ring and pages.
    var sources: [ByteBuffer] = []
    var actions: [BrokerAction] = []
    /// The slots of connections with something to flush.
    package internal(set) var touchedConnections: [Int32] = []
    var statistics = BrokerStatistics()
    var drain = Drain.notBegun

    enum Drain {
        case notBegun
        case committing
        case done
    }

    /// Whose durable subscription, and its name.
    struct DurableKey: Hashable {
        var uid: UInt32
        var name: String
    }

    package init(
        configuration: BrokerConfiguration, recovered: RecoveredLog, daemonVersion: String,
        daemonInstance: ClientInstance, now: Moment
    ) {
        self.configuration = configuration
        self.daemonVersion = daemonVersion
        self.daemonInstance = daemonInstance
        started = now
        center = CenterCore(reservedFirstToken: NameRights.daemonToken)
        sequencer = Sequencer(next: recovered.nextSequence)
        nextReaderID = recovered.nextSubscriptionID
        persistedThrough = recovered.persistedThrough
        ring = TailRing(capacityBytes: configuration.tailRingBytes, floor: recovered.persistedThrough)
        for record in recovered.subscriptions {
            recover(record)
        }
    }

    /// Whether the first sequences are reserved: before that, no connection is to be opened.
    package var isReady: Bool { sequencer.isReady }

    /// What is to be done, in order. Taking it empties the list.
    package mutating func takeActions() -> [BrokerAction] {
        guard !actions.isEmpty else { return [] }
        defer { actions.removeAll(keepingCapacity: true) }
        return actions
    }

    /// When `deadlinePassed` wants to be called, at the latest.
    package var nextDeadline: Duration? {
        // While a batch is at work no other begins, however late it is.
        var earliest = [running == nil ? commitDeadline : nil, silenceDeadline].compactMap(\.self).min()
        if let earliestTimeout, !timedConnections.isEmpty {
            earliest = min(earliest ?? earliestTimeout, earliestTimeout)
        }
        return earliest
    }

    /// The connection's session has a deadline from now on, or another one.
    mutating func watchDeadline(of slot: Int) {
        guard let deadline = connections[slot].session.deadline else { return }
        timedConnections.insert(slot)
        earliestTimeout = min(earliestTimeout ?? deadline, deadline)
    }

    /// Time has passed: late greetings and goodbyes end, and waiting progress is persisted.
    package mutating func deadlinePassed(now: Moment) {
        endLateConnections(now: now)
        noteSilence(now: now)
    }

    private mutating func endLateConnections(now: Moment) {
        guard let earliestTimeout, earliestTimeout <= now.monotonic else { return }
        let timed = timedConnections
        self.earliestTimeout = nil
        for slot in timed {
            guard let deadline = connections[slot].session.deadline else { continue }
            guard deadline <= now.monotonic else {
                watchDeadline(of: slot)
                continue
            }
            if connections[slot].session.isClosing {
                close(slot)
            } else {
                fail(
                    slot, WireError(.greetingTimeout, "no hello within \(configuration.greetingTimeout)"), now: now)
            }
        }
    }
}

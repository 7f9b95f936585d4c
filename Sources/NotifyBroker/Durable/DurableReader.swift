import DequeModule
import NotifyLog
import NotifyWire

/// A client's hold on a durable subscription.
struct Attachment: Equatable {
    let connection: ConnectionID
    /// The client's number for it on that connection.
    let number: UInt32
    let instance: ClientInstance
    let pid: UInt32
    let request: UInt64
    let isResumed: Bool
    /// Messages in flight at most.
    let window: Int
}

/// One durable subscription: how far it has come, who holds it, what is in flight. Decides only; the broker does.
///
/// While it is held it is either *live*, and gets each message as it is committed, or *behind*, and reads from its
/// position through the tail ring or pages until that is where the log ends. A slow reader costs a position.
struct DurableReader {
    enum State: Equatable {
        case detached
        /// Held, but the hold is not committed yet: nothing is handed over.
        case attaching
        case behind(isPageRequested: Bool)
        case live
        /// Nobody's, and about to be gone.
        case removing
    }

    private struct Flight {
        var sequence: UInt64
        var isAcknowledged: Bool
    }

    /// Acknowledged messages above the cursor may pile up to this many windows.
    private static let spanWindows = 8

    let id: UInt32
    let name: String
    let filter: SubscriptionFilter
    /// In the center; rises, so that a later subscription in the same place is not taken for this one.
    let registration: UInt64

    private(set) var state = State.detached
    private(set) var attachment: Attachment?
    /// Every matching message up to here was handed over in this attachment, or is acknowledged. Trails while live.
    private(set) var position: UInt64
    /// Every message up to here may have been seen.
    private(set) var seenThrough: UInt64
    /// What was `seenThrough` when this attachment began.
    private var redeliverThrough: UInt64 = 0
    private var cursor: UInt64
    private var flights: Deque<Flight> = []
    private var unacknowledged = 0
    /// Acknowledged, but not handed over in this attachment: rising and apart, above the position.
    private var acknowledgedAhead: SequenceRanges
    private var credit: UInt32 = 0
    /// Told with each page request; an answer to an older one is not taken.
    private(set) var pageGeneration: UInt64 = 0

    init(_ record: DurableRecord, registration: UInt64) {
        id = record.id
        name = record.name
        filter = record.filter
        self.registration = registration
        cursor = record.progress.cursor
        position = cursor
        seenThrough = record.progress.seenThrough
        acknowledgedAhead = SequenceRanges(record.progress.acknowledged)
    }

    // MARK: Holding

    enum AttachVerdict: Equatable {
        /// Free to take.
        case free
        /// The same client holds it on another connection, which loses it.
        case takeOver(from: Attachment)
        case refused(WireError, holderPID: UInt32)
    }

    func attachRequested(by instance: ClientInstance, filter: SubscriptionFilter) -> AttachVerdict {
        guard self.filter == filter else {
            return .refused(
                WireError(
                    .subscriptionMismatch,
                    "durable subscription '\(name)' exists with other patterns or another object: use those, or remove it first"
                ), holderPID: 0)
        }
        if state == .removing {
            return .refused(
                WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed"), holderPID: 0)
        }
        guard let attachment else { return .free }
        guard attachment.instance == instance else {
            return .refused(
                WireError(.subscriptionHeld, "durable subscription '\(name)' is held by process \(attachment.pid)"),
                holderPID: attachment.pid)
        }
        return .takeOver(from: attachment)
    }

    mutating func attached(_ attachment: Attachment, credit: UInt32) {
        self.attachment = attachment
        self.credit = credit
        state = .attaching
        position = cursor
        redeliverThrough = seenThrough
    }

    /// The hold is committed. Returns false where it is no longer the one that was asked for.
    mutating func attachmentCommitted(_ attachment: Attachment) -> Bool {
        guard state == .attaching, self.attachment == attachment else { return false }
        state = .behind(isPageRequested: false)
        return true
    }

    /// The holder is gone, or has left. What was handed over and not acknowledged comes again.
    mutating func detached() {
        guard attachment != nil else { return }
        let progress = progress
        attachment = nil
        state = .detached
        cursor = progress.cursor
        acknowledgedAhead = SequenceRanges(progress.acknowledged)
        flights = []
        unacknowledged = 0
        position = cursor
        pageGeneration += 1
    }

    mutating func removalRequested() throws(WireError) {
        switch state {
        case .detached:
            state = .removing
        case .removing:
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed already")
        case .attaching, .behind, .live:
            throw WireError(
                .subscriptionInUse,
                "durable subscription '\(name)' is held by process \(attachment?.pid ?? 0): stop that first")
        }
    }

    mutating func removalFailed() {
        if state == .removing { state = .detached }
    }

    /// It is gone, and what is still asked of it is refused.
    mutating func dropped() {
        detached()
        state = .removing
    }

    /// What the store is to know of it now.
    var progress: DurableProgress {
        var ranges: [SequenceRange] = []
        var isRunning = false
        for flight in flights {
            if flight.isAcknowledged {
                if isRunning {
                    ranges[ranges.count - 1].last = flight.sequence
                } else {
                    ranges.append(SequenceRange(first: flight.sequence, last: flight.sequence))
                }
            }
            isRunning = flight.isAcknowledged
        }
        return DurableProgress(
            cursor: cursor, seenThrough: seenThrough, acknowledged: ranges + acknowledgedAhead.all,
            isAttached: attachment != nil)
    }

    // MARK: Handing over

    /// Messages that may be handed over now.
    var room: Int {
        guard let attachment else { return 0 }
        let windowRoom = min(attachment.window - unacknowledged, attachment.window * Self.spanWindows - flights.count)
        return max(0, min(windowRoom, Int(credit)))
    }

    var isLive: Bool { state == .live }

    /// It is behind and waits for nothing: with room it can read on.
    var canRead: Bool { state == .behind(isPageRequested: false) && room > 0 }

    /// Whether a message that is handed over now may have been seen before.
    func isRedelivery(_ sequence: UInt64) -> Bool { sequence <= redeliverThrough }

    /// A matching message above the position is about to be handed over. Returns false for one that was acknowledged
    /// in an earlier attachment, which is passed.
    mutating func take(_ sequence: UInt64) -> Bool {
        let isAcknowledged = acknowledgedAhead.contains(sequence)
        reached(sequence)
        if isAcknowledged {
            if flights.isEmpty {
                cursor = sequence
            } else {
                flights.append(Flight(sequence: sequence, isAcknowledged: true))
            }
            return false
        }
        if flights.isEmpty { cursor = max(cursor, sequence - 1) }
        flights.append(Flight(sequence: sequence, isAcknowledged: false))
        unacknowledged += 1
        if credit != Subscribe.unlimitedCredit { credit -= 1 }
        seenThrough = max(seenThrough, sequence)
        return true
    }

    /// Everything that matches up to here has been dealt with.
    mutating func passed(through sequence: UInt64) {
        reached(max(position, sequence))
        if flights.isEmpty { cursor = max(cursor, position) }
    }

    /// What the position has come past is known by the flights: ranges that are persisted must not overlap.
    private mutating func reached(_ sequence: UInt64) {
        position = sequence
        acknowledgedAhead.removeAll(through: sequence)
    }

    /// It has come to the end of the log.
    mutating func caughtUp() {
        guard case .behind = state else { return }
        state = .live
    }

    /// A live reader had no room for the committed message that follows `sequence`.
    mutating func fellBehind(at sequence: UInt64) {
        guard state == .live else { return }
        state = .behind(isPageRequested: false)
        passed(through: sequence)
    }

    mutating func pageRequested() {
        guard case .behind = state else { return }
        state = .behind(isPageRequested: true)
        pageGeneration += 1
    }

    /// Whether a page is the one that is waited for.
    mutating func pageArrived(generation: UInt64) -> Bool {
        guard state == .behind(isPageRequested: true), generation == pageGeneration else { return false }
        state = .behind(isPageRequested: false)
        return true
    }

    // MARK: Acknowledging

    mutating func creditAdded(_ messages: UInt32) {
        guard credit != Subscribe.unlimitedCredit else { return }
        let (sum, overflow) = credit.addingReportingOverflow(messages)
        credit = overflow ? Subscribe.unlimitedCredit : sum
    }

    /// Takes all of the ranges or, where one ends beyond what was ever handed over, none.
    mutating func acknowledged(_ ranges: [SequenceRange]) throws(WireError) {
        if let wrong = ranges.first(where: { $0.last > seenThrough }) {
            throw WireError(
                .notDelivered,
                "sequence \(wrong.last) was not delivered to '\(name)': the last one was \(seenThrough)")
        }
        // What an earlier attachment left does not count against one that acknowledges what it was handed.
        let ahead = ranges.count { $0.last > position }
        let limit = max(Limits.acknowledgedRangesPerFrame, attachment?.window ?? 0)
        guard ahead == 0 || acknowledgedAhead.count + ahead <= limit else {
            throw WireError(.limitReached, "too many ranges are acknowledged ahead: join them, or await redelivery")
        }
        for range in SequenceRanges.joined(ranges) where range.last > cursor {
            acknowledge(range)
        }
        while let oldest = flights.first, oldest.isAcknowledged {
            flights.removeFirst()
        }
        cursor = flights.first.map { max(cursor, $0.sequence - 1) } ?? max(cursor, position)
    }

    private mutating func acknowledge(_ range: SequenceRange) {
        var index = flights.partitioningIndex { $0.sequence >= range.first }
        while index < flights.count, flights[index].sequence <= range.last {
            if !flights[index].isAcknowledged {
                flights[index].isAcknowledged = true
                unacknowledged -= 1
            }
            index += 1
        }
        if range.last > position {
            acknowledgedAhead.insert(SequenceRange(first: max(range.first, position + 1), last: range.last))
        }
    }
}

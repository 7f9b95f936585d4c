import WireTestSupport
@testable import NotifyBroker
import NotifyCenter
import NotifyLog
import NotifyWire

/// A client that checks every frame against its record of earlier frames.
final class SimulatedClient {
    /// A durable subscription to which the client is attached, according to its own record.
    struct Hold {
        var id: DurableID
        var name: String
        /// The generation of the subscription's cursor.
        var generation: UInt64
        var window: Int
        var creditLeft: UInt64?
        /// The highest sequence that was delivered without the mark of a redelivery.
        var last: UInt64
        /// Delivered messages that are not answered.
        var open: [UInt64] = []
        /// All messages delivered in this attachment.
        var got: Set<UInt64> = []
        /// The acknowledged ranges of several sequences. They also acknowledge redeliveries that the client has not
        /// read yet.
        var acknowledged: [ClosedRange<UInt64>] = []
        /// Whether the client has extended a deadline.
        var isExtended = false
    }

    /// A requested subscription.
    struct Wish {
        var number: UInt32
        var filter: Selection
        /// The parameters of a durable subscription.
        var durable: (name: String, window: Int, credit: UInt32)?
    }

    let client: Client
    let uid: UInt32
    let overflow: OverflowPolicy
    /// Volatile subscriptions that the broker has accepted.
    var taken: [UInt32: Selection] = [:]
    /// Volatile subscriptions whose confirmation the client has read.
    private var confirmed: [UInt32: Selection] = [:]
    /// Requested subscriptions, by request number.
    var asked: [UInt64: Wish] = [:]
    var holds: [UInt32: Hold] = [:]
    /// The expected receipts of posts without an answer, by request number.
    var unanswered: [UInt64: (sequence: UInt64, subscribers: UInt32, durability: Durability)] = [:]
    /// Volatile messages that must be delivered or reported in a gap, in order.
    var expected: [UInt64] = []
    private var nextExpected = 0
    private var lastVolatile: UInt64 = 0
    private var missedCount: UInt64 = 0
    /// The number of messages reported in gaps: with the policy `dropOldest`, since the last message; with the other
    /// policies, in total.
    private var gapCount: UInt64 = 0
    private(set) var isClosing = false
    /// Whether the end of the connection was recorded.
    var isDead = false

    init(_ client: Client, uid: UInt32, overflow: OverflowPolicy) {
        self.client = client
        self.uid = uid
        self.overflow = overflow
    }

    /// Reads the received frames.
    ///
    /// - Parameters:
    ///   - now: The current time.
    ///   - isHeld: Whether the broker considers this client the holder of a subscription.
    ///   - isElsewhere: Whether another client holds a message of a subscription.
    func read(
        _ model: inout ReferenceModel, _ store: FakeStore, _ happened: inout Simulation.Happened, now: Duration,
        isHeld: (UInt32) -> Bool, isElsewhere: (Hold, UInt32, UInt64) -> Bool
    ) {
        for received in client.take() {
            switch received {
            case .message(let message):
                happened.messages += 1
                happened.redeliveries += message.isRedelivery ? 1 : 0
                happened.retries += message.delivery > 1 ? 1 : 0
            case .gap(let gap) where gap.subscription != 0: happened.losing += 1
            case .gap: happened.gaps += 1
            case .error(let error) where error.code == ErrorCode.takenOver.rawValue: happened.takeOvers += 1
            default: break
            }
            switch received {
            case .message(let message) where message.subscription == 0: readVolatile(message, &model)
            case .message(let message):
                if let hold = holds[message.subscription], isHeld(message.subscription),
                    !model.work.timed.contains(hold.name), model.work.renewals[hold.name] == nil,
                    isElsewhere(hold, message.subscription, message.sequence)
                {
                    model.fail("\(message.sequence) of '\(hold.name)' is with two members")
                }
                readDurable(message, &model, store, now, isHeld)
            case .gap(let gap) where gap.subscription != 0: readLoss(gap, &model, store)
            case .gap(let gap): readGap(gap, &model)
            case .receipt(let receipt): readReceipt(receipt, &model, store)
            case .subscribed(let subscribed): readSubscribed(subscribed, &model, store)
            case .detached(let detached):
                holds[detached.subscription] = nil
                confirmed[detached.subscription] = nil
            case .error(let error): readError(error, &model)
            case .closing(let closing):
                isClosing = true
                // Later requests were not processed.
                unanswered = unanswered.filter { $0.key <= closing.lastRequest }
                asked = asked.filter { $0.key <= closing.lastRequest }
            case .welcome, .removed, .pong, .subscriptionEntry, .clientEntry, .nameEntry, .postEntry, .traceEntry,
                .durableEntry, .durableDescription, .deadline, .deadLettersDone, .storedNameEntry, .listEnd,
                .statistics, .logPage,
                .found,
                .reloaded, .policyDecision, .backupReady, .backupChunk, .purged, .checkProgress, .checkReport,
                .serving, .servingEnded, .serviceReply, .serviceCall, .serviceCallEnded, .valuePage, .valuesCleared,
                .announced:
                break
            }
        }
    }

    // MARK: Volatile

    private func readVolatile(_ message: ReceivedMessage, _ model: inout ReferenceModel) {
        let sequence = message.sequence
        check(message, model: &model)
        if sequence <= lastVolatile { model.fail("volatile \(sequence) after \(lastVolatile)") }
        if !confirmed.values.contains(where: { model.matches(sequence, $0) }) {
            model.fail("volatile \(sequence) matches no subscription")
        }
        lastVolatile = sequence
        var skipped: UInt64 = 0
        while nextExpected < expected.count, expected[nextExpected] < sequence {
            nextExpected += 1
            skipped += 1
        }
        if nextExpected < expected.count, expected[nextExpected] == sequence {
            nextExpected += 1
        } else {
            model.fail("volatile \(sequence) was not expected")
        }
        missedCount += skipped
        if overflow == .dropOldest, skipped != gapCount {
            model.fail("\(skipped) messages are missing before \(sequence), the gap reports \(gapCount)")
        }
        if overflow == .dropOldest { gapCount = 0 }
    }

    private func readGap(_ gap: Gap, _ model: inout ReferenceModel) {
        gapCount += gap.dropped
        if gap.dropped == 0 || gap.range.first > gap.range.last { model.fail("an empty gap: \(gap)") }
        for end in [gap.range.first, gap.range.last] where !expected.contains(end) {
            model.fail("the gap \(gap) ends at a message that was not expected")
        }
    }

    /// Checks that all volatile messages were delivered or reported. Must be called after all frames have been read.
    func checkVolatileIsComplete(_ model: inout ReferenceModel) {
        let missing = missedCount + UInt64(expected.count - nextExpected)
        let told = overflow == .dropOldest ? gapCount + missedCount : gapCount
        if missing != told { model.fail("\(missing) volatile messages are missing, gaps report \(told) (\(overflow))") }
    }

    // MARK: Durable

    private func readDurable(
        _ message: ReceivedMessage, _ model: inout ReferenceModel, _ store: FakeStore, _ now: Duration,
        _ isHeld: (UInt32) -> Bool
    ) {
        let sequence = message.sequence
        check(message, model: &model)
        guard var hold = holds[message.subscription] else {
            model.fail("\(sequence) for subscription \(message.subscription), which is not held")
            return
        }
        if !message.isRedelivery {
            if sequence <= hold.last { model.fail("\(sequence) after \(hold.last) in one attachment") }
            hold.last = sequence
        }
        let age = now - (model.posts[sequence]?.time ?? .zero)
        let failures = model.work.maximumFailures(of: sequence, hold.name, uid: uid, age: age)
        if Int(message.delivery) > 1 + failures || message.delivery == 0 {
            model.fail("delivery \(message.delivery) of \(sequence), which failed at most \(failures) times")
        }
        let filters = store.filters[hold.id] ?? []
        if !filters.contains(where: { model.matches(sequence, Selection(filter: $0, uid: uid)) }) {
            model.fail("\(sequence) matches none of \(filters)")
        }
        if sequence > model.reportedThrough { model.fail("\(sequence) was delivered before its commit") }
        // A client that has lost the subscription may read messages that were sent earlier, after another client has
        // received them. Such messages are not marked, nor are messages whose deadline has passed.
        if !message.isRedelivery, isHeld(message.subscription), !model.work.timed.contains(hold.name),
            model.seen[hold.id]?.contains(sequence) ?? false
        {
            model.fail("\(sequence) was delivered before, and is not marked as a redelivery")
        }
        model.seen[hold.id, default: []].insert(sequence)
        model.delivered[hold.generation, default: []].insert(sequence)
        hold.open.removeAll { $0 == sequence }
        hold.open.append(sequence)
        hold.got.insert(sequence)
        let isTimed = hold.isExtended || model.work.timed.contains(hold.name)
        let lost = lost(by: hold, store)
        // Messages that were deleted before the creation of the subscription was committed are in no loss.
        let inFlight = hold.open.filter { sequence in
            !lost.contains(sequence) && store.deleted.messages[sequence] == nil
                && !hold.acknowledged.contains { $0.contains(sequence) }
        }
        if inFlight.count > hold.window, !isTimed {
            model.fail("\(inFlight) in flight of '\(hold.name)', the window is \(hold.window)")
        }
        if let credit = hold.creditLeft {
            if credit == 0 { model.fail("\(sequence) was delivered without credit") }
            hold.creditLeft = credit &- 1
        }
        holds[message.subscription] = hold
    }

    /// Reads a gap of a durable subscription.
    private func readLoss(_ gap: Gap, _ model: inout ReferenceModel, _ store: FakeStore) {
        // A client that has lost the subscription may read frames that were sent to it before.
        guard let hold = holds[gap.subscription] else { return }
        let lost = lost(by: hold, store)
        let within = lost.filter { (gap.range.first...gap.range.last).contains($0) }
        if gap.reason != .deleted || gap.dropped == 0 || (gap.dropped > within.count && !gap.isUpperBound)
            || !within.contains(gap.range.first) || !within.contains(gap.range.last)
        {
            model.fail("\(gap) of '\(hold.name)', which has lost \(within.sorted()) there")
        }
        model.reported[hold.generation, default: []].formUnion(within)
    }

    private func lost(by hold: Hold, _ store: FakeStore) -> Set<UInt64> {
        (store.deleted.lost[hold.generation] ?? []).union(store.deleted.missing[hold.generation] ?? [])
    }

    private func check(_ message: ReceivedMessage, model: inout ReferenceModel) {
        let sequence = message.sequence
        guard let post = model.posts[sequence] else {
            model.fail("\(sequence) was never posted")
            return
        }
        let number = message.payload.prefix(8).reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        if number != post.number ?? number || Array(message.name.utf8) != post.name
            || Array(message.object.utf8) != post.object
        {
            model.fail("\(sequence) differs from the posted message")
        }
    }

    /// Sends an acknowledgement to the broker, and records it in the model.
    ///
    /// - Parameter underway: The redeliveries to the client that it might not have read yet.
    func acknowledge(
        _ number: UInt32, _ ranges: [ClosedRange<UInt64>], underway: [UInt64], _ model: inout ReferenceModel
    ) {
        guard var hold = holds[number] else { return }
        // An acknowledgement applies only to messages delivered to this client.
        model.acknowledged[hold.generation, default: []].formUnion(
            hold.got.union(underway).filter { sequence in ranges.contains { $0.contains(sequence) } })
        hold.open.removeAll { sequence in ranges.contains { $0.contains(sequence) } }
        hold.acknowledged += ranges.filter { $0.count > 1 }
        holds[number] = hold
        client.send(
            Acknowledge(
                subscription: number,
                ranges: ranges.map { SequenceRange(first: $0.lowerBound, last: $0.upperBound) }))
    }

    /// Gives a message back, and records this in the model.
    func reject(
        _ number: UInt32, _ sequence: UInt64, _ outcome: Reject.Outcome, delay: Duration?, _ model: inout ReferenceModel
    ) {
        guard let name = holds[number]?.name else { return }
        holds[number]?.open.removeAll { $0 == sequence }
        model.work.rejected(sequence, of: name, outcome)
        client.reject(number, sequence, outcome, delay: delay, reason: "\(sequence)")
    }

    // MARK: Answers

    private func readReceipt(_ receipt: Receipt, _ model: inout ReferenceModel, _ store: FakeStore) {
        guard let post = unanswered.removeValue(forKey: receipt.request) else {
            model.fail("a receipt for request \(receipt.request), which has no pending post")
            return
        }
        if receipt.sequence != post.sequence { model.fail("receipt \(receipt) for sequence \(post.sequence)") }
        if receipt.subscribers != post.subscribers { model.fail("receipt \(receipt), matched \(post.subscribers)") }
        switch receipt.durability {
        case .volatile, .automatic:
            if post.durability == .stored || post.durability == .synced { model.fail("\(receipt) is not stored") }
        case .stored, .synced:
            if post.durability == .volatile { model.fail("\(receipt) is stored") }
            if receipt.sequence > model.reportedThrough { model.fail("\(receipt) before its commit") }
            if receipt.durability == .synced, receipt.sequence > store.syncedThrough {
                model.fail("\(receipt) is not flushed")
            }
            model.receipted.insert(receipt.sequence)
        }
    }

    private func readSubscribed(_ subscribed: Subscribed, _ model: inout ReferenceModel, _ store: FakeStore) {
        guard let wish = asked.removeValue(forKey: subscribed.request) else {
            model.fail("\(subscribed) was not requested")
            return
        }
        guard let durable = wish.durable else {
            confirmed[wish.number] = wish.filter
            return
        }
        if store.firstCursors[subscribed.generation] == nil {
            model.fail("\(subscribed), but the log does not contain it")
        }
        holds[wish.number] = Hold(
            id: DurableID(UInt32(subscribed.generation >> 32)), name: durable.name, generation: subscribed.generation,
            window: durable.window,
            creditLeft: durable.credit == Subscribe.unlimitedCredit ? nil : UInt64(durable.credit),
            last: subscribed.sequence)
    }

    private func readError(_ error: ErrorFrame, _ model: inout ReferenceModel) {
        unanswered[error.request] = nil
        asked[error.request] = nil
        // The subscription was taken over, or the commit of its attachment or detachment failed.
        if error.subscription != 0 { holds[error.subscription] = nil }
        if error.code == ErrorCode.notDelivered.rawValue { model.fail("refused: \(error.message)") }
        if error.isFatal, error.code != ErrorCode.tooSlow.rawValue { model.fail("fatal: \(error.message)") }
    }
}

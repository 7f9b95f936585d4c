import NotifyCenter
import NotifyWire

/// Brings each delivery of a read to the subscriptions it is for.
///
/// A run names one durable subscription. Any other delivery is for the volatile ones that match: the daemon sends it once,
/// whatever their number.
struct DeliveryRouter: ~Copyable {
    /// A subscription as far as deliveries are concerned.
    struct Target {
        var number: UInt32
        var buffer: DeliveryBuffer
        /// For a durable one.
        var acknowledgements: MessageBatch.Acknowledgements?
        /// Messages up to here are not for it.
        var after: UInt64
        /// The last message it was given, or `after`.
        var last: UInt64
        /// Somebody keeps account of every delivery.
        var isCounted: Bool
        /// A volatile one's, in the center.
        fileprivate var registration: UInt64 = 0
        /// Messages of the present read, and the bytes of their frames.
        fileprivate var staged: [MessageBatch.Entry] = []
        fileprivate var stagedBytes = 0

        init(
            number: UInt32, buffer: DeliveryBuffer, acknowledgements: MessageBatch.Acknowledgements?, after: UInt64,
            isCounted: Bool = false
        ) {
            self.number = number
            self.buffer = buffer
            self.acknowledgements = acknowledgements
            self.after = after
            last = after
            self.isCounted = isCounted
        }
    }

    /// A delivery of a durable subscription, for whoever keeps account of them.
    struct DurableDelivery: Equatable {
        var number: UInt32
        var sequence: UInt64
        var verdict: AcknowledgementState.Verdict
    }

    private var targets: [Target?] = []
    private var durableSlots: [UInt32: Int] = [:]
    private var center = CenterCore(resolutionCacheLimit: 1024, reservedFirstToken: ReservedNames.daemonToken)
    private var touched: [Int] = []
    /// Up to this sequence every volatile subscription has received its messages, or a gap in their place.
    private var sharedThrough: UInt64 = 0
    private var run: (slot: Int?, number: UInt32, remaining: UInt32, isRedelivery: Bool) = (nil, 0, 0, false)
    /// Of what is staged, in the read.
    private var region: Range<Int>?

    // MARK: - Subscriptions

    mutating func add(_ target: Target, spec: SubscriptionSpec) {
        let slot = targets.firstIndex { $0 == nil } ?? targets.count
        if slot == targets.count { targets.append(nil) }
        targets[slot] = target
        if target.acknowledgements == nil {
            targets[slot]?.registration = center.add(
                patterns: spec.patterns, object: spec.object, slot: Int32(slot))
        } else {
            durableSlots[target.number] = slot
        }
    }

    /// What it had staged must have been taken before.
    mutating func remove(number: UInt32) {
        guard let slot = targets.firstIndex(where: { $0?.number == number }) else { return }
        if durableSlots.removeValue(forKey: number) == nil, let registration = targets[slot]?.registration {
            _ = center.remove(registration)
        }
        targets[slot] = nil
        if run.slot == slot { run.slot = nil }
    }

    /// The daemon dropped messages up to a sequence.
    ///
    /// - Returns: The buffers of the subscription, or where its number is 0 of all volatile ones.
    mutating func dropped(from number: UInt32, through sequence: UInt64) -> [DeliveryBuffer] {
        if number == 0 { sharedThrough = max(sharedThrough, sequence) }
        return buffers(for: number)
    }

    private func buffers(for number: UInt32) -> [DeliveryBuffer] {
        targets.compactMap { target in
            guard let target, number == 0 ? target.acknowledgements == nil : target.number == number else { return nil }
            return target.buffer
        }
    }

    // MARK: - Deliveries

    /// The next `count` deliveries are those of one durable subscription.
    mutating func begin(_ run: Run) {
        self.run = (durableSlots[run.subscription], run.subscription, run.count, run.isRedelivery)
    }

    /// A delivery whose body is at `offset` of the read. Answers what became of a durable subscription's, unless it is the
    /// usual and nobody keeps account.
    mutating func deliver(_ body: UnsafeRawBufferPointer, at offset: Int) throws(WireError) -> DurableDelivery? {
        let delivery = try Deliver(reading: body)
        let entry = MessageBatch.Entry(
            offset: UInt32(offset), length: UInt32(body.count), isRedelivered: run.remaining > 0 && run.isRedelivery)
        guard run.remaining == 0 else {
            run.remaining -= 1
            guard let slot = run.slot, let ledger = targets[slot]?.acknowledgements?.ledger else { return nil }
            let sequence = delivery.stamp.sequence
            let verdict = ledger.update { $0.delivered(sequence) }
            if verdict == .new {
                stage(entry, slot: slot, sequence: sequence)
                guard targets[slot]?.isCounted == true else { return nil }
            }
            return DurableDelivery(number: run.number, sequence: sequence, verdict: verdict)
        }
        sharedThrough = max(sharedThrough, delivery.stamp.sequence)
        let object = delivery.parts.object.isEmpty ? nil : delivery.parts.object
        for registration in center.resolve(name: delivery.parts.name, object: object).registrations {
            stage(entry, slot: Int(registration.slot), sequence: delivery.stamp.sequence)
        }
        return nil
    }

    private mutating func stage(_ entry: MessageBatch.Entry, slot: Int, sequence: UInt64) {
        guard let after = targets[slot]?.after, sequence > after else { return }
        if targets[slot]?.staged.isEmpty == true { touched.append(slot) }
        targets[slot]?.staged.append(entry)
        targets[slot]?.stagedBytes += Int(entry.length) + MessageBatch.headerBytes
        targets[slot]?.last = sequence
        let end = Int(entry.offset) + Int(entry.length)
        region = (region?.lowerBound ?? Int(entry.offset))..<end
    }

    /// Takes what is staged out of the read, copied once for all who have most of it.
    mutating func takeStaged(from read: UnsafeRawBufferPointer, _ body: (DeliveryBuffer, MessageBatch) -> Void) {
        guard let region else { return }
        let shared = [UInt8](read[region])
        for slot in touched {
            guard let target = targets[slot] else { continue }
            let batch =
                target.stagedBytes * 2 >= shared.count
                ? Self.share(shared, from: region.lowerBound, target) : Self.copy(read, target)
            body(target.buffer, batch)
            targets[slot]?.staged = []
            targets[slot]?.stagedBytes = 0
        }
        touched.removeAll(keepingCapacity: true)
        self.region = nil
    }

    private static func share(_ bytes: [UInt8], from start: Int, _ target: Target) -> MessageBatch {
        var entries = target.staged
        for index in entries.indices { entries[index].offset -= UInt32(start) }
        return MessageBatch(
            bytes: bytes, entries: entries, byteCount: target.stagedBytes, acknowledgements: target.acknowledgements)
    }

    private static func copy(_ read: UnsafeRawBufferPointer, _ target: Target) -> MessageBatch {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(target.stagedBytes)
        var entries = target.staged
        for index in entries.indices {
            let start = Int(entries[index].offset)
            entries[index].offset = UInt32(bytes.count)
            bytes.append(contentsOf: read[start..<start + Int(entries[index].length)])
        }
        return MessageBatch(
            bytes: bytes, entries: entries, byteCount: target.stagedBytes, acknowledgements: target.acknowledgements)
    }

    /// Removes all subscriptions when the connection is lost, and reports the sequence that each one had reached. Staged
    /// messages must have been taken before.
    mutating func removeAll(_ body: (_ number: UInt32, _ last: UInt64) -> Void) {
        for case let target? in targets {
            body(target.number, target.acknowledgements == nil ? max(target.last, sharedThrough) : target.last)
        }
        self = DeliveryRouter()
    }
}

import NotifyCenter
import NotifyWire

/// Routes each delivery of a read (the bytes read from the socket at once) to its subscriptions.
///
/// The header of a run announces deliveries of one subscription. Any other delivery is for the volatile
/// subscriptions that match: the daemon sends it once, regardless of the number of these subscriptions.
struct DeliveryRouter: ~Copyable {
    /// The data of a subscription for routing.
    struct Target {
        var number: UInt32
        var buffer: DeliveryBuffer
        /// The acknowledgements of a durable subscription; nil for a volatile one.
        var acknowledgements: MessageBatch.Acknowledgements?
        /// The daemon's sequence when a volatile subscription was opened: deliveries up to it are ignored. 0 for a
        /// durable subscription.
        var after: UInt64
        /// The sequence of the last message that was delivered to the subscription, or `after`.
        var last: UInt64
        /// Whether each delivery must be reported to the caller, which counts credit.
        var isCounted: Bool
        /// The registration of a volatile subscription in the center.
        fileprivate var registration: UInt64 = 0
        /// The messages of the present read, which are not delivered yet.
        fileprivate var staged = StagedMessages()

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

        fileprivate mutating func takeBatch(
            _ shared: StagedMessages.Region, _ read: UnsafeRawBufferPointer
        ) -> (buffer: DeliveryBuffer, batch: MessageBatch) {
            (buffer, staged.takeBatch(shared, read, acknowledgements))
        }
    }

    /// A delivery of a durable subscription, for credit and acknowledgements.
    struct DurableDelivery: Equatable {
        var number: UInt32
        var sequence: UInt64
        var disposition: AcknowledgementState.Disposition
    }

    /// The deliveries that follow the header of a run or page.
    private struct Announced {
        enum Kind { case run, redelivery, page }

        var kind = Kind.run
        /// The slot of the subscription; nil if it is unknown. Deliveries of an unknown subscription are discarded.
        var slot: Int?
        var number: UInt32 = 0
        var remaining: UInt32 = 0
        /// The delivery number of each message in a run.
        var delivery: UInt32 = 1
    }

    private var targets = SlotMap<PlainSlotID, Target>()
    /// The slots of the subscriptions in `targets`, by number.
    private var slots: [UInt32: Int] = [:]
    private var center = CenterCore(resolutionCacheBytes: 128 << 10, reservedFirstToken: ReservedNames.daemonToken)
    /// The slots of the subscriptions with staged messages.
    private var stagedSlots: [Int] = []
    /// The sequence up to which every volatile subscription has received its messages, or gaps in their place.
    private var sharedThrough: UInt64 = 0
    private var announced = Announced()
    /// The range of the read that holds the staged messages.
    private var region: Range<Int>?
    private var pages = StagedPages()

    // MARK: - Subscriptions

    mutating func add(_ target: Target, spec: SubscriptionSpec) {
        let slot = targets.insert(target).index
        slots[target.number] = slot
        if target.acknowledgements == nil {
            targets[slot].registration = center.add(patterns: spec.patterns, object: spec.object, slot: Int32(slot))
        }
    }

    /// Removes a subscription. Its staged messages must have been taken before.
    mutating func remove(number: UInt32) {
        guard let slot = slots.removeValue(forKey: number), let target = targets.remove(at: slot) else { return }
        if target.acknowledgements == nil { _ = center.remove(target.registration) }
        if announced.slot == slot { announced.slot = nil }
    }

    /// Must be called when the daemon has dropped messages of a subscription up to a sequence. Number 0 means all
    /// volatile subscriptions.
    ///
    /// - Returns: The buffers of these subscriptions.
    mutating func dropped(of number: UInt32, through sequence: UInt64) -> [DeliveryBuffer] {
        guard number == 0 else { return slots[number].map { [targets[$0].buffer] } ?? [] }
        sharedThrough = max(sharedThrough, sequence)
        return targets.values.filter { $0.acknowledgements == nil }.map(\.buffer)
    }

    /// Removes all subscriptions when the connection is lost, and calls `body` with the sequence that each one had
    /// reached. Staged messages must have been taken before.
    mutating func removeAll(_ body: (_ number: UInt32, _ last: UInt64) -> Void) {
        for target in targets.values {
            body(target.number, target.acknowledgements == nil ? max(target.last, sharedThrough) : target.last)
        }
        self = DeliveryRouter()
    }
}

// MARK: - Deliveries

extension DeliveryRouter {
    /// Begins a run: the next `count` deliveries belong to one durable subscription.
    mutating func begin(_ run: Run) {
        let slot = slots[run.subscription].flatMap { targets[$0].acknowledgements == nil ? nil : $0 }
        announced = Announced(
            kind: run.isRedelivery ? .redelivery : .run, slot: slot, number: run.subscription, remaining: run.count,
            delivery: max(1, run.delivery))
    }

    /// Begins a page: the next `count` deliveries are the answer to a request. Staged messages must have
    /// been taken before.
    mutating func begin(_ page: some PageHeader) {
        announced = Announced(kind: .page, remaining: page.count)
        pages.begin(page.request)
    }

    /// Takes the messages of a read that answer a request.
    mutating func takeStagedPage(from read: UnsafeRawBufferPointer) -> (request: UInt64, batch: MessageBatch)? {
        pages.take(from: read)
    }

    /// Routes a delivery.
    ///
    /// - Parameters:
    ///   - body: The body of the frame.
    ///   - offset: The position of the body in the read.
    /// - Returns: The disposition of a delivery to a durable subscription. Nil for other deliveries, and for a `new`
    ///   delivery to a subscription that is not counted.
    mutating func deliver(_ body: UnsafeRawBufferPointer, at offset: Int) throws(WireError) -> DurableDelivery? {
        let delivery = try Delivery(reading: body)
        var entry = MessageBatch.Entry(offset: UInt32(offset), length: UInt32(body.count), isRedelivered: false)
        let sequence = delivery.stamp.sequence
        guard announced.remaining == 0 else {
            announced.remaining -= 1
            if announced.kind == .page {
                pages.append(entry)
                return nil
            }
            guard let slot = announced.slot else { return nil }
            entry.isRedelivered = announced.kind == .redelivery
            entry.delivery = announced.delivery
            return deliverDurable(entry, slot: slot, sequence: sequence)
        }
        sharedThrough = max(sharedThrough, sequence)
        let object = delivery.parts.object.isEmpty ? nil : delivery.parts.object
        for registration in center.resolve(name: delivery.parts.name, object: object).registrations {
            stage(entry, slot: Int(registration.slot), sequence: sequence)
        }
        return nil
    }

    private mutating func deliverDurable(
        _ entry: MessageBatch.Entry, slot: Int, sequence: UInt64
    ) -> DurableDelivery? {
        guard let ledger = targets[slot].acknowledgements?.ledger else { return nil }
        let disposition = ledger.update { $0.delivered(sequence, delivery: entry.delivery) }
        if disposition == .new {
            stage(entry, slot: slot, sequence: sequence)
            guard targets[slot].isCounted else { return nil }
        }
        return DurableDelivery(number: announced.number, sequence: sequence, disposition: disposition)
    }

    private mutating func stage(_ entry: MessageBatch.Entry, slot: Int, sequence: UInt64) {
        guard sequence > targets[slot].after else { return }
        if targets[slot].staged.isEmpty { stagedSlots.append(slot) }
        targets[slot].staged.append(entry)
        targets[slot].last = sequence
        extendRegion(to: entry)
    }

    private mutating func extendRegion(to entry: MessageBatch.Entry) {
        let end = Int(entry.offset) + Int(entry.length)
        region = (region?.lowerBound ?? Int(entry.offset))..<end
    }
}

// MARK: - Taking

extension DeliveryRouter {
    /// Takes the staged messages of a read. The subscriptions share one copy of the bytes. A subscription with less
    /// than half of these bytes gets its own copy instead, because a small batch would keep the whole copy in memory.
    mutating func takeStaged(
        from read: UnsafeRawBufferPointer, _ body: (DeliveryBuffer, DeliveryBuffer.Item) -> Void
    ) {
        guard let region else { return }
        let shared = StagedMessages.Region(bytes: [UInt8](read[region]), start: region.lowerBound)
        for slot in stagedSlots where targets.isUsed(slot) {
            let (buffer, batch) = targets[slot].takeBatch(shared, read)
            body(buffer, .batch(batch))
        }
        stagedSlots.removeAll(keepingCapacity: true)
        self.region = nil
    }
}

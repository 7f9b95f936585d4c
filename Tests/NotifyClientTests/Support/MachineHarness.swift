import NIOCore
@_spi(Package) import NotifyCenter
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyClient

/// A client machine with a manual clock, and the frames that the machine writes.
final class MachineHarness {
    private var machine: ClientMachine
    private var unread = FrameReader()
    var now = Duration.zero
    private(set) var channel = Effects.ChannelEffect.none
    private(set) var changes: [NotificationClient.ConnectionChange] = []
    private(set) var warnings: [String] = []
    private let changedBuffers = ChangedBuffers()

    init(_ configuration: NotificationClient.Configuration = .manual) {
        machine = ClientMachine(configuration, instance: InstanceID(high: 1, low: 2))
    }

    /// Returns a harness whose machine is connected and greeted.
    static func ready(
        postWindow: UInt32 = 8,
        _ configuration: NotificationClient.Configuration = .manual
    ) throws -> MachineHarness {
        let harness = MachineHarness(configuration)
        harness.process { $0.start(&$1) }
        try harness.connect(postWindow: postWindow)
        return harness
    }

    func connect(postWindow: UInt32 = 8) throws {
        try #require(channel == .connect)
        process { [now] in $0.connected(now: now, &$1) }
        let frames = try read()
        try #require(frames.map(\.kind) == [.hello])
        let hello: Hello = try frames[0].read()
        receive { FakeConnection.welcome(to: hello, postWindow: postWindow).write(to: &$0) }
    }

    func disconnect() {
        process { [now] in $0.disconnected(nil, now: now, jitter: 0, &$1) }
        unread = FrameReader()
    }

    /// Disconnects, and connects again after the backoff.
    func reconnect(postWindow: UInt32 = 8) throws {
        disconnect()
        advance(by: .seconds(1))
        try connect(postWindow: postWindow)
    }

    func advance(by duration: Duration) {
        now += duration
        process { [now] in $0.timeReached(now, &$1) }
    }

    // MARK: Events

    @discardableResult
    func process<Result>(_ event: (inout ClientMachine, inout Effects) -> Result) -> Result {
        var effects = Effects()
        machine.submitStaged(now: now, &effects)
        let result = event(&machine, &effects)
        for (buffer, item) in effects.deliveries { buffer.put(item) }
        effects.outcomes.report()
        for answer in effects.answers { answer() }
        if effects.channel != .none { channel = effects.channel }
        changes += effects.changes
        warnings += effects.warnings
        reportChangedBuffers()
        return result
    }

    /// Reports changed buffers, as `ClientCore` does when a buffer changes.
    func reportChangedBuffers() {
        let changed = changedBuffers.takeAll()
        for buffer in changed { process { [now] machine, _ in machine.bufferChanged(buffer, now: now) } }
    }

    var readsConnection: Bool { machine.readsConnection }
    var hasOutgoing: Bool { machine.hasOutgoing }

    /// Receives bytes in one read.
    @discardableResult
    func receive(_ body: (inout ByteBuffer) throws -> Void) rethrows -> Int {
        var buffer = ByteBuffer()
        try body(&buffer)
        return buffer.withUnsafeReadableBytes { bytes in
            process { [now] in $0.received(bytes, now: { now }, &$1) }
        }
    }

    func post(
        _ name: String = "a.b", _ text: String = "", timeout: Duration? = nil
    ) throws -> ReplySlot<NotificationClient.Receipt> {
        let slot = ReplySlot<NotificationClient.Receipt>(timeout: timeout)
        let message = try message(name, text)
        process { [now] in $0.submit(message, .task(slot), now: now, &$1) }
        return slot
    }

    func send(_ name: String = "a.b", _ text: String = "") throws -> ReplySlot<Void> {
        let slot = ReplySlot<Void>()
        let message = try message(name, text)
        process { [now] in $0.submit(message, .sender(slot), now: now, &$1) }
        return slot
    }

    /// Posts messages to a pipeline that has room for them, as `ClientCore` does.
    func post(_ count: Int, to pipeline: PipelineBuffer) async throws {
        let (first, count) = try await pipeline.reserve(count)
        let end = first + UInt64(count)
        let message = try message("a.b", "")
        process { [now] machine, effects in
            for index in first..<end {
                machine.submit(message, .pipeline(pipeline, index: index), now: now, &effects)
            }
            if let timeout = pipeline.timeout { machine.limit(pipeline, before: end, until: now + timeout) }
        }
    }

    /// Stages a post to a pipeline that has room for it.
    func stage(_ text: String, to pipeline: PipelineBuffer) async throws {
        guard try await pipeline.stage(message("a.b", text)) == .first else { return }
        process { [now] in $0.announce(pipeline, now: now, &$1) }
    }

    func call<Request: RequestFrame>(_ frame: Request, timeout: Duration? = nil) -> ReplySlot<Request.Reply> {
        call(FrameCall(frame, timeout: timeout))
    }

    func call<C: Call>(_ call: C) -> ReplySlot<C.Answer> {
        process { [now] in $0.call(call, now: now, &$1) }
        return call.slot
    }

    private func message(_ name: String, _ text: String) throws -> NotificationClient.OutgoingMessage {
        try .init(name: NotificationName(name), payload: Array(text.utf8))
    }

    struct Subscribed {
        var number: UInt32
        var buffer: DeliveryBuffer
        var ledger: AcknowledgementLedger?
        var openWaiter: ReplySlot<NotifyWire.Subscribed?>

        /// Takes the messages and gaps that are available now.
        func drain() async throws -> (sequences: [UInt64], gaps: [NotificationClient.Gap], texts: [String]) {
            buffer.put(.gap(.init(reason: .recreated, missed: 0, sequences: nil)))
            var result: (sequences: [UInt64], gaps: [NotificationClient.Gap], texts: [String]) = ([], [], [])
            while result.gaps.last?.missed != 0 {
                let taken = try await buffer.next()
                result.sequences += taken.sequences
                result.gaps += taken.gaps
            }
            result.gaps.removeLast()
            return result
        }
    }

    func subscribe(
        _ patterns: [String], _ kind: NotificationClient.SubscriptionKind = .volatile(), object: String? = nil,
        limit: Int? = nil, timeout: Duration? = nil
    ) throws -> Subscribed {
        try subscribe(
            SubscriptionSpec(patterns: patterns, object: object, kind: kind, limit: limit), timeout: timeout)
    }

    func subscribe(_ spec: SubscriptionSpec, timeout: Duration? = nil) throws -> Subscribed {
        let openWaiter = ReplySlot<NotifyWire.Subscribed?>(timeout: timeout)
        let buffer = DeliveryBuffer(policy: spec.bufferPolicy, limit: spec.limit) { [changedBuffers] buffer in
            changedBuffers.append(buffer)
        }
        let ledger =
            spec.isDurable
            ? AcknowledgementLedger(window: spec.requestedWindow, hasHandlers: spec.extendsDeadlines) { _ in } : nil
        let entry = SubscriptionTable.Entry(spec: spec, buffer: buffer, ledger: ledger, openWaiter: openWaiter)
        let number = process { [now] in $0.subscribe(entry, now: now, &$1) }
        return Subscribed(number: number, buffer: buffer, ledger: ledger, openWaiter: openWaiter)
    }

    /// Subscribes, and answers as the daemon.
    func subscribed(
        _ patterns: [String], _ kind: NotificationClient.SubscriptionKind = .volatile(), object: String? = nil,
        limit: Int? = nil, after sequence: UInt64 = 0
    ) throws -> Subscribed {
        let subscription = try subscribe(patterns, kind, object: object, limit: limit)
        _ = try acceptSubscriptions(after: sequence)
        return subscription
    }

    /// Answers all unread subscribe frames.
    func acceptSubscriptions(
        after sequence: UInt64 = 0, generation: UInt64 = 0, isResumed: Bool = false
    ) throws -> [Subscribe] {
        let frames = try read().map { try $0.read(Subscribe.self) }
        receive { buffer in
            for frame in frames {
                NotifyWire.Subscribed(
                    request: frame.request, subscription: frame.subscription, sequence: sequence,
                    generation: generation, isResumed: isResumed
                ).write(to: &buffer)
            }
        }
        return frames
    }

    func acknowledge(_ subscription: Subscribed, _ sequences: UInt64...) throws {
        let ledger = try #require(subscription.ledger)
        for sequence in sequences where ledger.update({ $0.acknowledge(sequence, epoch: $0.epoch) }) {
            process { machine, _ in machine.acknowledgementsPending(ledger) }
        }
    }

    func leave(_ subscription: Subscribed) -> ReplySlot<Void> {
        let slot = ReplySlot<Void>()
        process { [now] in $0.leave(subscription.number, slot, now: now, &$1) }
        return slot
    }

    func stop() {
        process { [now] in $0.stop(now: now, &$1) }
    }

    // MARK: Written frames

    /// Takes the bytes of one write, as `ClientCore` does on the event loop.
    func takeOutgoing() -> ByteBuffer? { process { $0.takeOutgoing(&$1) } }

    /// Returns the frames written since the last call.
    func read() throws -> [FakeConnection.Received] {
        repeat {
            if let bytes = takeOutgoing() { unread.append(bytes) }
        } while process { machine, _ in machine.hasOutgoing }
        var frames: [FakeConnection.Received] = []
        while let frame = try unread.next(FakeConnection.Received.init) { frames.append(frame) }
        return frames
    }

    func readPosts() throws -> [FakeConnection.ReceivedPost] {
        try read().filter { $0.kind == .post }.map { try $0.readPost() }
    }
}

/// Buffers whose changes were not reported to the machine yet.
private final class ChangedBuffers: Sendable {
    private let buffers = Lock<[DeliveryBuffer]>([])

    func append(_ buffer: DeliveryBuffer) { buffers.withLock { $0.append(buffer) } }

    func takeAll() -> [DeliveryBuffer] {
        buffers.withLock { buffers in
            defer { buffers = [] }
            return buffers
        }
    }
}

extension ReplySlot {
    /// Waits for the answer. Returns the error's code, or nil for success.
    func code() async -> NotifyError.Code? {
        do {
            _ = try await wait()
            return nil
        } catch {
            return error.code
        }
    }
}

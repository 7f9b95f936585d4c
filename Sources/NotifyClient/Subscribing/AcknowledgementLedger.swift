@_spi(Package) import NotifyCenter
import NotifyWire
import Synchronization

/// The answers to the messages of a durable subscription. Its consumers and the connection share the ledger.
final class AcknowledgementLedger: Sendable {
    private let state: Lock<AcknowledgementState>
    private let numberStorage = Atomic<UInt32>(0)
    /// Called without the lock when an answer must be sent and no other was pending.
    private let onPending: @Sendable (AcknowledgementLedger) -> Void

    /// - Parameter hasHandlers: Whether handlers process the messages. The caller must then report the start and end of
    ///   each handler.
    init(window: Int, hasHandlers: Bool = false, onPending: @escaping @Sendable (AcknowledgementLedger) -> Void) {
        state = Lock(AcknowledgementState(window: window, hasHandlers: hasHandlers))
        self.onPending = onPending
    }

    /// The subscription's number; 0 before it has one.
    var number: UInt32 {
        get { numberStorage.load(ordering: .relaxed) }
        set { numberStorage.store(newValue, ordering: .relaxed) }
    }

    /// Acknowledges a message for the consumer. `epoch` is the value of `AcknowledgementState.epoch` at its delivery.
    func acknowledge(_ sequence: UInt64, epoch: UInt32) {
        if state.withLock({ $0.acknowledge(sequence, epoch: epoch) }) { onPending(self) }
    }

    /// Rejects or gives back a message for the consumer. `delivery` is the number of the message's delivery.
    func reject(_ rejection: AcknowledgementState.Rejection, delivery: UInt32, epoch: UInt32) {
        if state.withLock({ $0.reject(rejection, delivery: delivery, epoch: epoch) }) { onPending(self) }
    }

    /// Extends the deadline of a message for the consumer.
    func extend(_ sequence: UInt64, by microseconds: UInt64, delivery: UInt32, epoch: UInt32) {
        if state.withLock({ $0.extend(sequence, by: microseconds, delivery: delivery, epoch: epoch) }) {
            onPending(self)
        }
    }

    /// See `AcknowledgementState.handlerStarts`.
    func handlerStarts(_ sequence: UInt64, delivery: UInt32, epoch: UInt32) -> AcknowledgementState.HandlerStart {
        state.withLock { $0.handlerStarts(sequence, delivery: delivery, epoch: epoch) }
    }

    /// Must be called when a handler has ended. `answer` answers the handler's message. The answer and the credit for
    /// another message are sent together, because each wake-up of the connection's thread takes time from short
    /// handlers.
    func handlerEnded(_ answer: () -> Void = {}) {
        let isFirst = state.withLock { $0.handlerEnded() }
        answer()
        if isFirst { onPending(self) }
    }

    /// See `AcknowledgementState.stopHandlers`.
    func stopHandlers() {
        if state.withLock({ $0.stopHandlers() }) { onPending(self) }
    }

    /// Updates the state for the connection, without calling `onPending`.
    func update<Result: Sendable>(_ body: (inout AcknowledgementState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}

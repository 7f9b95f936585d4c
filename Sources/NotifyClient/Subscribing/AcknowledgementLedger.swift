import NotifyCenter
import NotifyWire
import Synchronization

/// The acknowledgements of a durable subscription, shared by its consumers and the connection.
final class AcknowledgementLedger: Sendable {
    private let state: Lock<AcknowledgementState>
    private let numberStorage = Atomic<UInt32>(0)
    /// Called, without the lock held, when an acknowledgement must be sent and no other was pending.
    private let onPending: @Sendable (AcknowledgementLedger) -> Void

    init(window: Int, onPending: @escaping @Sendable (AcknowledgementLedger) -> Void) {
        state = Lock(AcknowledgementState(window: window))
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

    /// Updates the state for the connection, without calling `onPending`.
    func update<Result: Sendable>(_ body: (inout AcknowledgementState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}

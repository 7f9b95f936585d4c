import NotifyWire
import Synchronization

/// Where consumers put acknowledgements and the connection takes them from.
final class AcknowledgementLedger: Sendable {
    private let state: Mutex<AcknowledgementState>
    private let numberStorage = Atomic<UInt32>(0)
    /// Called, without a lock held, when there is something to send and was not before.
    private let onPending: @Sendable (AcknowledgementLedger) -> Void

    init(window: Int, onPending: @escaping @Sendable (AcknowledgementLedger) -> Void) {
        state = Mutex(AcknowledgementState(window: window))
        self.onPending = onPending
    }

    /// The subscription's number, once it has one.
    var number: UInt32 {
        get { numberStorage.load(ordering: .relaxed) }
        set { numberStorage.store(newValue, ordering: .relaxed) }
    }

    /// For consumers.
    func acknowledge(_ sequence: UInt64) {
        if state.withLock({ $0.acknowledge(sequence) }) { onPending(self) }
    }

    /// For the connection, which looks for what is pending by itself.
    func update<Result: Sendable>(_ body: (inout AcknowledgementState) -> Result) -> Result {
        state.withLock { body(&$0) }
    }
}

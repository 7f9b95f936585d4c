import NotifyLog
import NotifyWire

extension DurableSubscription {
    /// A change whose commit is pending, and the values that it has replaced.
    enum PendingChange {
        case reset(Cursor, Redeliveries, LossRecord, startedAfter: UInt64)
        case edit(SubscriptionFilter)
        case settings(DurableSettings)

        /// The memory of the replaced values, in bytes.
        var byteCount: Int {
            switch self {
            case .reset(let cursor, let redeliveries, _, _): cursor.byteCount + redeliveries.byteCount
            case .edit(let filter): filter.byteCount
            case .settings: 0
            }
        }
    }
}

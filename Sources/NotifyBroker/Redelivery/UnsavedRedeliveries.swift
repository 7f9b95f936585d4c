/// The rows of redeliveries that the log does not have yet, of all durable subscriptions.
///
/// If there are many rows, connections that add more are paused, and passed deadlines are handled later. This bounds
/// the duration of a batch, for which posts wait.
struct UnsavedRedeliveries {
    private static let maximumRows = 4_096
    private static let maximumBytes = 16 << 20

    private(set) var rows = 0
    /// The bytes of the copies that the next batches must make.
    private(set) var bytes = 0

    var areMany: Bool { rows >= Self.maximumRows || bytes >= Self.maximumBytes }

    /// Adds a change of the footprint of a durable subscription.
    mutating func add(_ change: DurableSubscription.Footprint) {
        rows += change.unsavedRows
        bytes += change.unsavedBytes
    }
}

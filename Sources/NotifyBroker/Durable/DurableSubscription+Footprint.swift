extension DurableSubscription {
    /// The memory and the copies for which a subscription's user is charged, and the unsaved redeliveries.
    struct Footprint {
        /// The memory in bytes.
        var memory = 0
        /// The bytes of copies, including copies that the log does not have yet.
        var copies = 0
        /// The rows of redeliveries that the log does not have yet: their number, and the bytes of their copies.
        var unsavedRows = 0
        var unsavedBytes = 0

        static func - (left: Footprint, right: Footprint) -> Footprint {
            Footprint(
                memory: left.memory - right.memory, copies: left.copies - right.copies,
                unsavedRows: left.unsavedRows - right.unsavedRows,
                unsavedBytes: left.unsavedBytes - right.unsavedBytes)
        }
    }
}

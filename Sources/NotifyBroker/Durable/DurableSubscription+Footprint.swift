extension DurableSubscription {
    /// What a subscription holds that its user is charged for.
    struct Footprint {
        /// The memory in bytes.
        var memory = 0
        /// The bytes of copies in the log.
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

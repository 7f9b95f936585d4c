extension AcknowledgementState {
    /// The deliveries of an unanswered message.
    struct Copies {
        /// The number of the delivery that the consumer received last.
        var delivery: UInt32 = 1
        /// The number of the last delivery, which may have been discarded because the consumer has an earlier one.
        var latest: UInt32 = 1
        /// The number of deliveries that the consumer received in addition to the first.
        var extra = 0
    }
}

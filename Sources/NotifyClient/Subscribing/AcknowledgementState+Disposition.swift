extension AcknowledgementState {
    /// The action for a delivery.
    enum Disposition: Equatable {
        /// Pass it to the consumer.
        case new
        /// Discard it: the message is in the buffer or was passed to the consumer, and is not answered.
        case duplicate
        /// Discard it and acknowledge it again: the consumer acknowledged it, but the daemon did not receive the
        /// acknowledgement.
        case acknowledged
        /// Give it back: the consumer holds more messages than the window allows, because their deadlines have passed.
        case overrun
        /// Give it back without a delay: no further handler starts.
        case stopped
    }
}

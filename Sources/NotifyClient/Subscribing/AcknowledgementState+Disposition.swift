extension AcknowledgementState {
    /// The action for a delivery.
    enum Disposition: Equatable {
        /// Pass the message to the consumer.
        case new
        /// Discard the message: it is in the buffer or was passed to the consumer, and is not answered.
        case duplicate
        /// Discard the message and acknowledge it again: the consumer acknowledged it, but the daemon did not receive
        /// the acknowledgement.
        case acknowledged
        /// Give the message back: the consumer holds twice as many messages as the window allows, for example because
        /// their deadlines have passed.
        case overrun
        /// Give the message back without a delay: no further handler starts.
        case stopped
    }
}

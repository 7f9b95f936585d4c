/// The machine's actions, carried out after the lock is released because they may re-enter the machine.
struct Effects: Sendable {
    /// An action for the channel.
    enum ChannelEffect: Equatable { case none, connect, close }

    var channel = ChannelEffect.none
    /// Items for the subscriptions' buffers, in order of arrival.
    var deliveries: [(buffer: DeliveryBuffer, item: DeliveryBuffer.Item)] = []
    /// The outcomes of posts.
    var outcomes = PostOutcomes()
    /// Answers to all other requests; they only set reply slots.
    var answers: [@Sendable () -> Void] = []
    /// Changes of the connection to report to the program.
    var changes: [NotificationClient.ConnectionChange] = []
    /// Whether the connection was lost after the daemon's welcome, whatever the reason.
    var isConnectionLost = false
    /// The number of messages that the client's buffers have dropped.
    var dropped: UInt64 = 0
    /// Warnings to log.
    var warnings: [String] = []

    mutating func answer<Value>(_ slot: ReplySlot<Value>, _ answer: ReplySlot<Value>.Answer) {
        answers.append { slot.answer(answer) }
    }

    mutating func fail(_ call: any Call, _ error: NotifyError) {
        let waiter = call.waiter
        answers.append { waiter.fail(error) }
    }
}

/// What the machine has decided, to be carried out once no lock is held: carrying out may come back to the machine.
struct Effects: Sendable {
    /// What is to become of the channel.
    enum ChannelEffect: Equatable { case none, connect, close }

    var channel = ChannelEffect.none
    /// What arrived, in order.
    var deliveries: [(buffer: DeliveryBuffer, item: DeliveryBuffer.Item)] = []
    /// What became of posts.
    var outcomes = PostOutcomes()
    /// Answers to everything else; they only fill reply slots.
    var answers: [@Sendable () -> Void] = []
    /// Changes to tell the owner of the client.
    var changes: [NotifyClient.ConnectionChange] = []
    /// Things for the log.
    var remarks: [String] = []

    mutating func answer<Value>(_ slot: ReplySlot<Value>, _ answer: ReplySlot<Value>.Answer) {
        answers.append { slot.answer(answer) }
    }

    mutating func fail(_ call: Call, _ error: NotifyError) {
        answers.append { call.fail(error) }
    }
}

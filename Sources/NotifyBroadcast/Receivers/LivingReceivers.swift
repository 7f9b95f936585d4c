/// The receivers of one call, in order: those that were registered when it began, without those that went before their
/// turn.
public struct LivingReceivers<Receiver>: Sequence, IteratorProtocol {
    let list: BroadcastReceivers<Receiver>
    let registrations: ContiguousArray<BroadcastReceivers<Receiver>.Registration>
    let methods: UInt64
    private var position = 0
    private var hasMetDead = false

    init(
        list: BroadcastReceivers<Receiver>,
        registrations: ContiguousArray<BroadcastReceivers<Receiver>.Registration>, methods: UInt64
    ) {
        self.list = list
        self.registrations = registrations
        self.methods = methods
    }

    /// The next one that lives and is still registered.
    public mutating func next() -> Receiver? {
        while position < registrations.count {
            let registration = registrations[position]
            position += 1
            if registration.methods & methods == 0 { continue }
            if let receiver = registration.reference() { return receiver }
            hasMetDead = true
        }
        if hasMetDead {
            hasMetDead = false
            list.prune()
        }
        return nil
    }
}

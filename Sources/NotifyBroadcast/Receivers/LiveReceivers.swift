/// The receivers of one call, in order: those registered when the call began, except those that are released or removed
/// before the call reaches them.
public struct LiveReceivers<Receiver>: Sequence, IteratorProtocol {
    let list: BroadcastReceivers<Receiver>
    let registrations: ContiguousArray<BroadcastReceivers<Receiver>.Registration>
    let methods: UInt64
    private var position = 0
    private var foundReleased = false

    init(
        list: BroadcastReceivers<Receiver>,
        registrations: ContiguousArray<BroadcastReceivers<Receiver>.Registration>, methods: UInt64
    ) {
        self.list = list
        self.registrations = registrations
        self.methods = methods
    }

    /// Returns the next receiver that exists and is still registered, or nil at the end.
    public mutating func next() -> Receiver? {
        while position < registrations.count {
            let registration = registrations[position]
            position += 1
            if registration.methods & methods == 0 { continue }
            if let receiver = registration.reference() { return receiver }
            foundReleased = true
        }
        if foundReleased {
            foundReleased = false
            list.prune()
        }
        return nil
    }
}

/// The slot of a durable subscription, valid until the subscription is removed.
struct DurableSlot: Hashable, Comparable, Sendable {
    let rawValue: Int32

    init(_ rawValue: Int32) {
        self.rawValue = rawValue
    }

    var index: Int { Int(rawValue) }

    static func < (left: DurableSlot, right: DurableSlot) -> Bool { left.rawValue < right.rawValue }
}

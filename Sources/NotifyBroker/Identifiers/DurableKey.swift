/// Identifies a durable subscription to clients. Names are unique per user.
struct DurableKey: Hashable, Comparable {
    var uid: UInt32
    var name: String

    static func < (left: DurableKey, right: DurableKey) -> Bool { (left.uid, left.name) < (right.uid, right.name) }
}

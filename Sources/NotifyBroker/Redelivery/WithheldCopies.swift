import DequeModule
import NotifyLog

/// The withheld copies of a durable subscription: copies without a failure that wait for a member that may receive
/// them.
///
/// Such a member may never attach, and other members must not wait for it. So withheld copies have a limit of their
/// own, above which the oldest are dropped.
struct WithheldCopies {
    /// The maximum number of copies, and of their bytes: half of the subscription's limits, so that other copies have
    /// room.
    static let maximumCount = Redelivery.maximumCount / 2
    static let maximumBytes = Redelivery.maximumBytes / 2

    private(set) var count = 0
    private(set) var bytes = 0
    /// The sequences in the order in which they were added. Some are out of date.
    private var order: Deque<UInt64> = []

    mutating func add(_ sequence: UInt64, bytes: UInt32) {
        count += 1
        self.bytes += Int(bytes)
        order.append(sequence)
    }

    mutating func removed(bytes: UInt32) {
        count -= 1
        self.bytes -= Int(bytes)
    }

    /// Whether there are more copies or more bytes than given. A single copy never exceeds the limits.
    func exceed(count: Int, bytes: Int) -> Bool { self.count > 1 && (self.count > count || self.bytes > bytes) }

    /// Takes the oldest sequence, which may be out of date; nil if there is none.
    mutating func takeOldest() -> UInt64? { order.popFirst() }

    /// Whether many sequences are out of date.
    var isSparse: Bool { order.count > 2 * count + 64 }

    /// Removes the sequences that are out of date.
    mutating func compact(where isCurrent: (UInt64) -> Bool) {
        var kept: Set<UInt64> = []
        order = order.filter { isCurrent($0) && kept.insert($0).inserted }
    }
}

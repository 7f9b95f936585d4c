import Algorithms
import NotifyLog

/// Keys in the order of numbers that only rise. A key may be added again under a higher number, which makes the earlier
/// pair obsolete. Obsolete pairs stay until `compact`.
struct KeyOrder {
    private(set) var pairs: [(number: UInt64, key: ValueKey)] = []

    /// The highest number so far; 0 if there was none.
    private(set) var last: UInt64 = 0

    mutating func append(_ number: UInt64, _ key: ValueKey) {
        pairs.append((number, key))
        last = number
    }

    /// The pairs with higher numbers.
    func after(_ number: UInt64) -> ArraySlice<(number: UInt64, key: ValueKey)> {
        pairs[pairs.partitioningIndex { $0.number > number }...]
    }

    /// Removes obsolete pairs once most are obsolete, so that the cost of each removal stays constant.
    ///
    /// - Parameter count: The number of pairs that are not obsolete.
    mutating func compact(count: Int, isCurrent: (_ number: UInt64, _ key: ValueKey) -> Bool) {
        guard pairs.count > 2 * count + 64 else { return }
        pairs.removeAll { !isCurrent($0.number, $0.key) }
    }
}

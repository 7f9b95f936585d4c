import Algorithms
import DequeModule

/// Sequences in ascending order.
extension Deque<UInt64> {
    func containsSorted(_ sequence: UInt64) -> Bool {
        let index = firstIndex(notBelow: sequence)
        return index < count && self[index] == sequence
    }

    mutating func insertSorted(_ sequence: UInt64) {
        if let last, last > sequence { insert(sequence, at: firstIndex(notBelow: sequence)) } else { append(sequence) }
    }

    /// Removes a sequence.
    ///
    /// - Returns: Whether the sequence was present.
    mutating func removeSorted(_ sequence: UInt64) -> Bool {
        // Fast path: consumers usually acknowledge the oldest message first.
        if first == sequence {
            removeFirst()
            return true
        }
        let index = firstIndex(notBelow: sequence)
        guard index < count, self[index] == sequence else { return false }
        remove(at: index)
        return true
    }

    private func firstIndex(notBelow sequence: UInt64) -> Int {
        partitioningIndex { $0 >= sequence }
    }
}

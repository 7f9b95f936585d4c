/// Identifies a durable subscription in the log. Ids ascend and are never reused.
package struct DurableID: Hashable, Comparable, Sendable {
    package var rawValue: UInt32

    package init(_ rawValue: UInt32) {
        self.rawValue = rawValue
    }

    package static func < (left: DurableID, right: DurableID) -> Bool { left.rawValue < right.rawValue }
}

extension DurableID: CustomStringConvertible {
    package var description: String { "\(rawValue)" }
}

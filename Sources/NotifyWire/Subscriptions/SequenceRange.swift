/// Sequences `first` through `last`, both included.
package struct SequenceRange: Equatable, Hashable, Sendable {
    package var first: UInt64
    package var last: UInt64

    @inlinable
    package init(first: UInt64, last: UInt64) {
        self.first = first
        self.last = last
    }
}

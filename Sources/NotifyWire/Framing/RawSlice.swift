extension UnsafeRawBufferPointer {
    /// The bytes from `start` up to but not including `end`, in place.
    ///
    /// Used several times per message instead of `init(rebasing:)`, whose generic slice is not always inlined.
    @inlinable
    @inline(__always)
    package func slice(_ start: Int, _ end: Int) -> UnsafeRawBufferPointer {
        precondition(0 <= start && start <= end && end <= count, "a slice reaches outside its bytes")
        guard let baseAddress else { return self }
        return UnsafeRawBufferPointer(start: baseAddress + start, count: end - start)
    }

    /// The bytes from `start` on, in place.
    @inlinable
    @inline(__always)
    package func slice(from start: Int) -> UnsafeRawBufferPointer { slice(start, count) }
}

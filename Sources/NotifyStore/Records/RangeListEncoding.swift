import NotifyWire

/// Acknowledged ranges as the database keeps them: distance from the end of the one before, then length less one.
enum RangeListEncoding {
    /// Nil where the ranges do not rise: they could not be read again.
    static func encode(_ ranges: [SequenceRange]) -> [UInt8]? {
        var bytes: [UInt8] = []
        var previous: UInt64 = 0
        for range in ranges {
            guard range.first >= previous, range.last >= range.first else { return nil }
            Varint.append(range.first - previous, to: &bytes)
            Varint.append(range.last - range.first, to: &bytes)
            previous = range.last
        }
        return bytes
    }

    /// Nil where the bytes are none that `encode` gave.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [SequenceRange]? {
        var ranges: [SequenceRange] = []
        var reader = Varint.Reader(bytes)
        var previous: UInt64 = 0
        while !reader.isAtEnd {
            guard let distance = reader.next(), let length = reader.next() else { return nil }
            let first = previous &+ distance
            let last = first &+ length
            guard first >= previous, last >= first else { return nil }
            ranges.append(SequenceRange(first: first, last: last))
            previous = last
        }
        return ranges
    }
}

import NotifyWire

/// Encodes acknowledged ranges for the database. Each range is two varints: the distance from the last sequence of the
/// previous range (or from 0) to the first sequence of the range, and the length of the range minus one.
enum RangeListEncoding {
    /// Returns nil if the ranges are not in ascending order, because such a list could not be decoded.
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

    /// Returns nil if the bytes are malformed.
    static func decode(_ bytes: UnsafeRawBufferPointer) -> [SequenceRange]? {
        var ranges: [SequenceRange] = []
        var reader = Varint.Reader(bytes)
        var previous: UInt64 = 0
        while !reader.isAtEnd {
            guard let delta = reader.next(), let length = reader.next() else { return nil }
            let first = previous &+ delta
            let last = first &+ length
            guard first >= previous, last >= first else { return nil }
            ranges.append(SequenceRange(first: first, last: last))
            previous = last
        }
        return ranges
    }
}

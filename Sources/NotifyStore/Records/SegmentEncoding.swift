/// Encodes the entries of a closed segment for the database: sorted by name and user, each as four varints. The first
/// varint is the difference from the name's id in the previous entry. The others are the user, the number of messages,
/// and their bytes.
enum SegmentEncoding {
    static func encode(_ entries: [SegmentEntry]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(entries.count * 8)
        var previous: UInt32 = 0
        for entry in entries.sorted(by: { ($0.name, $0.uid) < ($1.name, $1.uid) }) {
            Varint.append(UInt64(entry.name - previous), to: &bytes)
            Varint.append(UInt64(entry.uid), to: &bytes)
            Varint.append(UInt64(entry.messages), to: &bytes)
            Varint.append(entry.bytes, to: &bytes)
            previous = entry.name
        }
        return bytes
    }

    /// A sequence that decodes the entries one at a time, without allocating an array. Ends at the first malformed
    /// entry.
    struct Reader: IteratorProtocol, Sequence {
        private var numbers: Varint.Reader
        private var previous: UInt64 = 0

        init(_ bytes: UnsafeRawBufferPointer) {
            numbers = Varint.Reader(bytes)
        }

        mutating func next() -> SegmentEntry? {
            guard let delta = numbers.next(), let uid = numbers.next(), let messages = numbers.next(),
                let bytes = numbers.next()
            else { return nil }
            previous &+= delta
            return SegmentEntry(
                name: UInt32(truncatingIfNeeded: previous), uid: UInt32(truncatingIfNeeded: uid),
                messages: UInt32(truncatingIfNeeded: messages), bytes: bytes)
        }
    }
}

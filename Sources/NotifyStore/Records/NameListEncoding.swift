/// Encodes the name ids of a closed segment for the database: sorted, each as a varint of the difference from the
/// previous id.
enum NameListEncoding {
    static func encode(_ names: [UInt32]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(names.count * 2)
        var previous: UInt32 = 0
        for name in names.sorted() {
            Varint.append(UInt64(name - previous), to: &bytes)
            previous = name
        }
        return bytes
    }

    /// Decodes the ids one at a time, without allocating an array.
    struct Reader: IteratorProtocol {
        private var numbers: Varint.Reader
        private var previous: UInt64 = 0

        init(_ bytes: UnsafeRawBufferPointer) {
            numbers = Varint.Reader(bytes)
        }

        mutating func next() -> UInt32? {
            guard let delta = numbers.next() else { return nil }
            previous &+= delta
            return UInt32(truncatingIfNeeded: previous)
        }
    }
}

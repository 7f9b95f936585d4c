/// Names in the order in which they are posted, stored back to back as in the receive buffer of a connection.
struct Names {
    let strings: [String]
    private let bytes: [UInt8]
    private let ends: [Int]

    /// Creates this number of names in random order, so that processor caches do not profit from the order.
    init(_ count: Int) {
        var random = SplitMix(state: 42)
        strings = (0..<count).map { "orders.\($0 % 7).created.\($0)" }.shuffled(using: &random)
        var bytes: [UInt8] = []
        var ends: [Int] = [0]
        for name in strings {
            bytes.append(contentsOf: name.utf8)
            ends.append(bytes.count)
        }
        self.bytes = bytes
        self.ends = ends
    }

    /// Calls the body for each name in turn, `posts` times in all.
    @inline(__always)
    func forEach(posts: Int, _ body: (UnsafeRawBufferPointer) -> Void) {
        bytes.withUnsafeBytes { bytes in
            ends.withUnsafeBufferPointer { ends in
                var index = 0
                for _ in 0..<posts {
                    body(UnsafeRawBufferPointer(rebasing: bytes[ends[index]..<ends[index + 1]]))
                    index = index + 2 == ends.count ? 0 : index + 1
                }
            }
        }
    }
}

/// A generator with the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

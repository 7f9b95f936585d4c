/// Identifies the name and the object of a value within one process: a hash of both.
///
/// The hash has 128 bits and a seed that no client knows, so two names never have the same key. The broker keeps one
/// for each value, instead of the texts.
package struct ValueKey: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter object: The object; empty for none.
    package init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer) {
        var hasher = Hasher()
        hasher.combine(name.count)
        hasher.combine(bytes: name)
        hasher.combine(bytes: object)
        // Both hashes continue the same state of 256 bits, so that the texts are read only once.
        var other = hasher
        other.combine(UInt8(0))
        self.init(high: hasher.finalize(), low: other.finalize())
    }

    /// Makes a key of two hashes, for tests.
    init(high: Int, low: Int) {
        self.high = UInt64(bitPattern: Int64(high))
        self.low = UInt64(bitPattern: Int64(low))
    }

    /// A part of the key for hash tables. The key is a keyed hash, so it needs no further hashing.
    package var hash: UInt32 { UInt32(truncatingIfNeeded: low) }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }
}

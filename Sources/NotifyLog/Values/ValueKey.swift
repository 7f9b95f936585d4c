/// Identifies the name and the object of a value within one process: a hash of both.
///
/// The hash has 128 bits and a seed that no client knows, so two names never have the same key. The broker keeps one
/// for each value, instead of the texts.
package struct ValueKey: Hashable, Sendable {
    private let high: UInt64
    private let low: UInt64

    /// - Parameter object: The object; empty for none.
    package init(name: UnsafeRawBufferPointer, object: UnsafeRawBufferPointer) {
        high = Self.hash(name, object, salt: 0)
        low = Self.hash(name, object, salt: 1)
    }

    private static func hash(
        _ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer, salt: UInt8
    ) -> UInt64 {
        var hasher = Hasher()
        hasher.combine(salt)
        hasher.combine(name.count)
        hasher.combine(bytes: name)
        hasher.combine(bytes: object)
        return UInt64(bitPattern: Int64(hasher.finalize()))
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(low)
    }
}

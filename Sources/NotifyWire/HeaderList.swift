/// A message's headers: keys with values, each key once, in the poster's order.
///
/// Encoded one after another: key length u8, value length u16, key, value. Keys are 1 to 255 bytes of UTF-8 without
/// control characters; values are UTF-8.
package enum HeaderList {
    /// Checks an encoded list against the rules and `Limits`.
    package static func validate(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        guard !bytes.isEmpty else { return }
        _ = try decode(bytes)
    }

    /// The keys and values of an encoded list.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> [(key: String, value: String)] {
        guard bytes.count <= Limits.headerBytes else { throw tooLong(bytes.count) }
        var cursor = WireCursor(bytes)
        var headers: [(key: String, value: String)] = []
        var keys: Set<String> = []
        while cursor.remaining > 0 {
            guard headers.count < Limits.headerCount else { throw tooMany }
            let keyLength: UInt8 = try cursor.integer()
            let valueLength: UInt16 = try cursor.integer()
            let key = try cursor.string(Int(keyLength))
            let value = try cursor.string(Int(valueLength))
            try check(key: key)
            guard keys.insert(key).inserted else {
                throw WireError(.invalidHeaders, "header '\(key)' stands more than once")
            }
            headers.append((key, value))
        }
        return headers
    }

    /// Encodes a list; fails on what `validate` would refuse.
    package static func encode(_ headers: [(key: String, value: String)]) throws(WireError) -> [UInt8] {
        var bytes: [UInt8] = []
        for (key, value) in headers {
            try check(key: key)
            guard value.utf8.count <= Limits.headerBytes else { throw tooLong(value.utf8.count) }
            bytes.append(UInt8(key.utf8.count))
            bytes.append(UInt8(truncatingIfNeeded: value.utf8.count))
            bytes.append(UInt8(truncatingIfNeeded: value.utf8.count >> 8))
            bytes.append(contentsOf: key.utf8)
            bytes.append(contentsOf: value.utf8)
        }
        guard bytes.count <= Limits.headerBytes else { throw tooLong(bytes.count) }
        guard headers.count <= Limits.headerCount else { throw tooMany }
        guard Set(headers.map(\.key)).count == headers.count else {
            throw WireError(.invalidHeaders, "a header's key stands more than once")
        }
        return bytes
    }

    private static func check(key: String) throws(WireError) {
        guard (1...255).contains(key.utf8.count) else {
            throw WireError(.invalidHeaders, "a header's key is 1 to 255 bytes")
        }
        guard !key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw WireError(.invalidHeaders, "a header's key holds a control character")
        }
    }

    private static let tooMany = WireError(
        .invalidHeaders, "a message has at most \(Limits.headerCount) headers")

    private static func tooLong(_ count: Int) -> WireError {
        WireError(.invalidHeaders, "headers of \(count) bytes are over the limit of \(Limits.headerBytes)")
    }
}

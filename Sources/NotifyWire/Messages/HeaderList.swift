/// A message's headers: key-value pairs in the poster's order. Keys are unique. Like names, keys are compared by their
/// bytes.
///
/// Encoded one after another: key length u8, value length u16, key, value. Keys are 1 to 255 bytes of UTF-8 without
/// control characters; values are UTF-8.
package enum HeaderList {
    /// Checks an encoded list against the rules and `Limits`.
    package static func validate(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        guard !bytes.isEmpty else { return }
        _ = try decode(bytes)
    }

    /// Decodes a list and checks it against the rules and `Limits`.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> [(key: String, value: String)] {
        guard bytes.count <= Limits.headerBytes else { throw tooLong(bytes.count) }
        var reader = FieldReader(bytes)
        var headers: [(key: String, value: String)] = []
        while reader.remaining > 0 {
            guard headers.count < Limits.headerCount else { throw tooMany }
            let header = try next(from: &reader)
            try check(key: header.key)
            headers.append(header)
        }
        try checkKeysAreUnique(headers)
        return headers
    }

    /// Reads one header. Maps errors to `invalidHeaders`, which refuses the message but keeps the connection open,
    /// because the frame itself is well-formed.
    private static func next(from reader: inout FieldReader) throws(WireError) -> (key: String, value: String) {
        do {
            let keyLength: UInt8 = try reader.integer()
            let valueLength: UInt16 = try reader.integer()
            return (try reader.string(Int(keyLength)), try reader.string(Int(valueLength)))
        } catch {
            throw WireError(.invalidHeaders, "the headers are truncated or not valid UTF-8")
        }
    }

    /// Encodes a list. Throws `invalidHeaders` for headers that `validate` would refuse.
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
        try checkKeysAreUnique(headers)
        return bytes
    }

    /// Compares keys by their bytes: `String` would compare by canonical equivalence, unlike the strings of other
    /// languages.
    private static func checkKeysAreUnique(_ headers: [(key: String, value: String)]) throws(WireError) {
        guard headers.count > 1 else { return }
        var keys: Set<[UInt8]> = []
        for (key, _) in headers where !keys.insert(Array(key.utf8)).inserted {
            throw WireError(.invalidHeaders, "duplicate header '\(key)'")
        }
    }

    private static func check(key: String) throws(WireError) {
        guard (1...255).contains(key.utf8.count) else {
            throw WireError(.invalidHeaders, "a header's key is 1 to 255 bytes")
        }
        guard !key.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) else {
            throw WireError(.invalidHeaders, "a header's key contains a control character")
        }
    }

    private static let tooMany = WireError(
        .invalidHeaders, "a message has at most \(Limits.headerCount) headers")

    private static func tooLong(_ count: Int) -> WireError {
        WireError(.invalidHeaders, "headers of \(count) bytes are over the limit of \(Limits.headerBytes)")
    }
}

/// A message's headers: key-value pairs in the poster's order. Keys are unique. Like names, keys are compared by their
/// bytes.
///
/// Encoded one after another: key length u8, value length u16, key, value. Keys are 1 to 255 bytes of UTF-8 without
/// control characters; values are UTF-8. Keys that begin with `notifyd-`, but not with `notifyd-trace-`, are reserved:
/// only the daemon adds them.
package enum HeaderList {
    /// Checks the encoded list of a post against the rules and `Limits`.
    ///
    /// - Throws: `invalidHeaders`, also for reserved keys.
    package static func validate(_ bytes: UnsafeRawBufferPointer) throws(WireError) {
        guard !bytes.isEmpty else { return }
        let headers = try decode(bytes)
        for (key, _) in headers where isReserved(key) { throw reserved(key) }
        guard headers.count <= Limits.headerCount else { throw tooMany }
        guard bytes.count <= Limits.headerBytes else { throw tooLong(bytes.count) }
    }

    /// Decodes the list of a delivered message and checks it against the rules and `Limits`. Reserved headers have
    /// limits of their own, which are added to those of the poster's headers.
    package static func decode(_ bytes: UnsafeRawBufferPointer) throws(WireError) -> [(key: String, value: String)] {
        guard bytes.count <= Limits.headerBytes + Limits.reservedHeaderBytes else { throw tooLong(bytes.count) }
        var reader = FieldReader(bytes)
        var headers: [(key: String, value: String)] = []
        while reader.remaining > 0 {
            guard headers.count < Limits.headerCount + Limits.reservedHeaderCount else { throw tooMany }
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
            guard !isReserved(key) else { throw reserved(key) }
            guard value.utf8.count <= Limits.headerBytes else { throw tooLong(value.utf8.count) }
            append(key, value, to: &bytes)
        }
        guard bytes.count <= Limits.headerBytes else { throw tooLong(bytes.count) }
        guard headers.count <= Limits.headerCount else { throw tooMany }
        try checkKeysAreUnique(headers)
        return bytes
    }

    private static func append(_ key: String, _ value: String, to bytes: inout [UInt8]) {
        bytes.append(UInt8(key.utf8.count))
        bytes.append(UInt8(truncatingIfNeeded: value.utf8.count))
        bytes.append(UInt8(truncatingIfNeeded: value.utf8.count >> 8))
        bytes.append(contentsOf: key.utf8)
        bytes.append(contentsOf: value.utf8)
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

// MARK: - Reserved headers

extension HeaderList {
    /// The beginning of reserved keys, in upper or lower case.
    package static let reservedPrefix = "notifyd-"

    /// The beginning of the keys that hold the trace context of a message. Posts may contain them, although they begin
    /// with `reservedPrefix`: clients add them for the program's tracer.
    package static let tracePrefix = "notifyd-trace-"

    /// Whether a key is reserved for the daemon.
    package static func isReserved(_ key: some StringProtocol) -> Bool { isReserved(utf8: key.utf8) }

    private static func isReserved(utf8 key: some Collection<UInt8>) -> Bool {
        if key.starts(with: tracePrefix.utf8) { return false }
        let start = key.prefix(reservedPrefix.utf8.count)
        return start.elementsEqual(reservedPrefix.utf8) { byte, expected in
            (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 == expected : byte == expected
        }
    }

    private static func reserved(_ key: String) -> WireError {
        WireError(
            .invalidHeaders,
            "the header '\(key)' is reserved: only notifyd adds headers that begin with '\(reservedPrefix)'")
    }

    /// Replaces the reserved headers of a list. The caller keeps within the limits for reserved headers.
    ///
    /// - Parameters:
    ///   - headers: Headers with reserved keys.
    ///   - encoded: An encoded list that was checked before.
    package static func encodeReserved(
        _ headers: [(key: String, value: String)], after encoded: UnsafeRawBufferPointer
    ) -> [UInt8] {
        var bytes = withoutReserved(encoded)
        let ownCount = bytes.count
        for (key, value) in headers { append(key, value, to: &bytes) }
        precondition(headers.count <= Limits.reservedHeaderCount, "too many reserved headers")
        precondition(bytes.count - ownCount <= Limits.reservedHeaderBytes, "reserved headers are too long")
        return bytes
    }

    /// The list without its reserved headers.
    package static func withoutReserved(_ encoded: UnsafeRawBufferPointer) -> [UInt8] {
        var bytes: [UInt8] = []
        forEach(encoded) { key, _, header in
            if !isReserved(utf8: key) { bytes.append(contentsOf: header) }
        }
        return bytes
    }

    /// The value of a key in an encoded list; nil if there is none.
    package static func value(of key: String, in encoded: UnsafeRawBufferPointer) -> String? {
        var found: String?
        forEach(encoded) { other, value, _ in
            if other.elementsEqual(key.utf8) { found = String(decoding: value, as: UTF8.self) }
        }
        return found
    }

    /// Calls `body` with the key, the value and all bytes of each header. Ends at the first truncated header.
    private static func forEach(
        _ encoded: UnsafeRawBufferPointer,
        _ body: (_ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ all: UnsafeRawBufferPointer) -> Void
    ) {
        var start = 0
        while encoded.count - start >= 3 {
            let keyEnd = start + 3 + Int(encoded[start])
            let end = keyEnd + Int(encoded[start + 1]) + Int(encoded[start + 2]) << 8
            guard end <= encoded.count else { return }
            body(encoded.slice(start + 3, keyEnd), encoded.slice(keyEnd, end), encoded.slice(start, end))
            start = end
        }
    }
}

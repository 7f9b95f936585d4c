/// Reads the little-endian fields of a frame's body. Reading past the end of the body throws `malformedFrame`.
///
/// The bytes belong to the read buffer. Slices taken from a reader are valid only as long as that buffer.
package struct FieldReader {
    private let bytes: UnsafeRawBufferPointer
    private var offset = 0

    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    package var remaining: Int { bytes.count - offset }

    package mutating func integer<Value: FixedWidthInteger>(_: Value.Type = Value.self) throws(WireError) -> Value {
        guard remaining >= MemoryLayout<Value>.size else { throw .truncated }
        defer { offset += MemoryLayout<Value>.size }
        return Value(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Value.self))
    }

    package mutating func take(_ count: Int) throws(WireError) -> UnsafeRawBufferPointer {
        guard count <= remaining else { throw .truncated }
        defer { offset += count }
        return bytes.slice(offset, offset + count)
    }

    package mutating func skip(_ count: Int) throws(WireError) {
        _ = try take(count)
    }

    /// Takes all bytes not read yet.
    package mutating func rest() -> UnsafeRawBufferPointer {
        defer { offset = bytes.count }
        return bytes.slice(from: offset)
    }

    /// Reads `count` bytes of UTF-8.
    package mutating func string(_ count: Int) throws(WireError) -> String {
        guard let text = String(validating: try take(count), as: UTF8.self) else {
            throw WireError(.malformedFrame, "a text field is not valid UTF-8")
        }
        return text
    }

    /// Reads the length of a text, in one byte, and then the text.
    package mutating func countedString() throws(WireError) -> String {
        let length: UInt8 = try integer()
        return try string(Int(length))
    }

    /// Reads `count` texts, each preceded by its length in one byte.
    package mutating func countedStrings(_ count: UInt8) throws(WireError) -> [String] {
        var texts: [String] = []
        for _ in 0..<count { texts.append(try countedString()) }
        return texts
    }

    /// Checks that all bytes were read.
    ///
    /// - Throws: `malformedFrame` if bytes remain after the frame's fields.
    package func finish() throws(WireError) {
        guard remaining == 0 else {
            throw WireError(.malformedFrame, "\(remaining) bytes follow the end of the frame's fields")
        }
    }
}

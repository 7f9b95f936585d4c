/// Writes JSON as bytes on one line, with the keys in the order in which they are added.
struct JSONWriter {
    private(set) var bytes: [UInt8] = []
    private var needsComma = false

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    /// Writes an object. `body` writes its members.
    mutating func object(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "{"))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "}"))
        needsComma = true
    }

    /// Writes an array. `body` writes its elements.
    mutating func array(_ body: (inout JSONWriter) -> Void) {
        separate()
        bytes.append(UInt8(ascii: "["))
        needsComma = false
        body(&self)
        bytes.append(UInt8(ascii: "]"))
        needsComma = true
    }

    mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    mutating func member(_ name: String, _ value: String?) {
        key(name)
        if let value { string(value) } else { null() }
    }

    mutating func member(_ name: String, _ value: some FixedWidthInteger) {
        key(name)
        number(value)
    }

    mutating func optionalMember(_ name: String, _ value: (some FixedWidthInteger)?) {
        key(name)
        if let value { number(value) } else { null() }
    }

    mutating func member(_ name: String, _ value: Bool) {
        key(name)
        literal(value ? "true" : "false")
    }

    mutating func number(_ value: some FixedWidthInteger) {
        literal(String(value))
    }

    mutating func null() {
        literal("null")
    }

    mutating func string(_ value: String) {
        var value = value
        value.withUTF8 { string(UnsafeRawBufferPointer($0)) }
    }

    /// Writes a string, given as valid UTF-8. Escapes all characters that could change a terminal.
    mutating func string(_ utf8: UnsafeRawBufferPointer) {
        separate()
        bytes.append(UInt8(ascii: "\""))
        var start = 0
        for (index, byte) in utf8.enumerated() {
            switch byte {
            case ..<0x20, 0x7F, UInt8(ascii: "\""), UInt8(ascii: "\\"):
                bytes.append(contentsOf: utf8[start..<index])
                escape(byte)
                start = index + 1
            case 0xC2 where index + 1 < utf8.count && utf8[index + 1] < 0xA0:
                // The second byte of U+0080 to U+009F equals the code point.
                bytes.append(contentsOf: utf8[start..<index])
                escape(utf8[index + 1])
                start = index + 2
            case 0xD8 where utf8[(index + 1)...].first == 0x9C:
                bytes.append(contentsOf: utf8[start..<index])
                bytes.append(contentsOf: "\\u061c".utf8)
                start = index + 2
            case 0xE2 where index + 2 < utf8.count:
                let value = 0x2000 | UInt32(utf8[index + 1] & 0x3F) << 6 | UInt32(utf8[index + 2] & 0x3F)
                guard Unicode.Scalar(value)?.isBidirectionalControl == true else { continue }
                bytes.append(contentsOf: utf8[start..<index])
                bytes.append(contentsOf: "\\u\(String(value, radix: 16))".utf8)
                start = index + 3
            default: continue
            }
        }
        bytes.append(contentsOf: utf8[start...])
        bytes.append(UInt8(ascii: "\""))
        needsComma = true
    }

    private mutating func escape(_ byte: UInt8) {
        bytes.append(UInt8(ascii: "\\"))
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes.append(byte)
        case UInt8(ascii: "\n"): bytes.append(UInt8(ascii: "n"))
        case UInt8(ascii: "\r"): bytes.append(UInt8(ascii: "r"))
        case UInt8(ascii: "\t"): bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            let digits = Array("0123456789abcdef".utf8)
            bytes.append(digits[Int(byte >> 4)])
            bytes.append(digits[Int(byte & 15)])
        }
    }

    private mutating func literal(_ text: String) {
        separate()
        bytes.append(contentsOf: text.utf8)
        needsComma = true
    }

    private mutating func separate() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = false
    }
}

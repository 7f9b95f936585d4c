/// Decodes the bytes that a terminal sends for keys. Sequences may arrive in pieces. Unknown sequences are skipped.
struct KeyDecoder: Sendable {
    /// The length in bytes at which an unfinished sequence is skipped.
    private static let longestSequence = 32
    private static let escapeByte: UInt8 = 0x1B

    private var pending: [UInt8] = []

    /// Whether bytes wait for the rest of their sequence. If the rest does not arrive soon, call ``finish()``.
    var isWaiting: Bool { !pending.isEmpty }

    mutating func decode(_ bytes: [UInt8]) -> [Key] {
        pending += bytes
        return decodePending(isComplete: false)
    }

    /// Decodes the waiting bytes as complete sequences: a single escape byte is the Escape key.
    mutating func finish() -> [Key] {
        defer { pending.removeAll() }
        return decodePending(isComplete: true)
    }

    private enum Step {
        case key(Key?, length: Int)
        case incomplete
    }

    private mutating func decodePending(isComplete: Bool) -> [Key] {
        var keys: [Key] = []
        var rest = pending[...]
        while !rest.isEmpty, case .key(let key, let length) = Self.step(rest, isComplete: isComplete) {
            if let key { keys.append(key) }
            rest = rest.dropFirst(length)
        }
        pending = rest.count < Self.longestSequence ? Array(rest) : []
        return keys
    }

    /// Decodes the first key. If the step has no key, its bytes are skipped.
    private static func step(_ bytes: ArraySlice<UInt8>, isComplete: Bool) -> Step {
        let first = bytes[bytes.startIndex]
        switch first {
        case escapeByte: return escapeSequence(bytes, isComplete: isComplete)
        case 0x09: return .key(.tab, length: 1)
        case 0x0A, 0x0D: return .key(.enter, length: 1)
        case 0x08, 0x7F: return .key(.backspace, length: 1)
        case 0x15: return .key(.clearLine, length: 1)
        case 0..<0x20: return .key(nil, length: 1)
        default: return character(bytes, isComplete: isComplete)
        }
    }

    private static func character(_ bytes: ArraySlice<UInt8>, isComplete: Bool) -> Step {
        let first = bytes[bytes.startIndex]
        let length = first < 0x80 ? 1 : first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : first >= 0xC0 ? 2 : 1
        guard bytes.count >= length || isComplete else { return .incomplete }
        guard let text = String(validating: bytes.prefix(length), as: UTF8.self), let character = text.first else {
            return .key(nil, length: 1)
        }
        return .key(.character(character), length: length)
    }

    private static func escapeSequence(_ bytes: ArraySlice<UInt8>, isComplete: Bool) -> Step {
        let rest = bytes.dropFirst()
        guard let second = rest.first else { return isComplete ? .key(.escape, length: 1) : .incomplete }
        let sequence: Step
        switch second {
        case UInt8(ascii: "["): sequence = controlSequence(rest.dropFirst())
        case UInt8(ascii: "O"):
            sequence = rest.dropFirst().first.map { .key(cursorKey($0), length: 3) } ?? .incomplete
        default: return .key(.escape, length: 1)
        }
        if case .incomplete = sequence, isComplete { return .key(.escape, length: 1) }
        return sequence
    }

    /// Decodes the bytes after `ESC [`: parameters, and a final byte.
    private static func controlSequence(_ bytes: ArraySlice<UInt8>) -> Step {
        guard let end = bytes.firstIndex(where: { $0 >= 0x40 }) else { return .incomplete }
        let length = 3 + bytes.distance(from: bytes.startIndex, to: end)
        guard bytes[end] == UInt8(ascii: "~") else { return .key(cursorKey(bytes[end]), length: length) }
        let number = bytes[..<end].prefix { $0 != UInt8(ascii: ";") }
        return .key(editingKey(String(decoding: number, as: UTF8.self)), length: length)
    }

    private static func cursorKey(_ final: UInt8) -> Key? {
        switch final {
        case UInt8(ascii: "A"): .up
        case UInt8(ascii: "B"): .down
        case UInt8(ascii: "C"): .right
        case UInt8(ascii: "D"): .left
        case UInt8(ascii: "F"): .end
        case UInt8(ascii: "H"): .home
        case UInt8(ascii: "M"): .enter
        case UInt8(ascii: "Z"): .backTab
        default: nil
        }
    }

    private static func editingKey(_ number: String) -> Key? {
        switch number {
        case "1", "7": .home
        case "4", "8": .end
        case "5": .pageUp
        case "6": .pageDown
        default: nil
        }
    }
}

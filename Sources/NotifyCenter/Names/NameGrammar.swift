/// The rules for names and patterns, checked in one pass over the bytes.
struct NameGrammar {
    /// The wildcards that a pass over a valid name or pattern found.
    struct Shape: Hashable, Sendable {
        var hasWildcards = false
        var startsWithWildcard = false
    }

    private static let dot = UInt8(ascii: ".")
    private static let star = UInt8(ascii: "*")
    private static let tail = UInt8(ascii: ">")

    private let bytes: UnsafeRawBufferPointer
    private let isPattern: Bool
    private var shape = Shape()
    private var tokenCount = 1
    private var tokenStart = 0

    private init(bytes: UnsafeRawBufferPointer, isPattern: Bool) {
        self.bytes = bytes
        self.isPattern = isPattern
    }

    /// Checks whether bytes are a valid name or pattern.
    ///
    /// - Returns: The wildcards of the pattern.
    /// - Throws: ``NameError`` with the first rule that the bytes break.
    static func check(_ bytes: UnsafeRawBufferPointer, isPattern: Bool) throws(NameError) -> Shape {
        var grammar = NameGrammar(bytes: bytes, isPattern: isPattern)
        try grammar.run()
        return grammar.shape
    }

    private mutating func run() throws(NameError) {
        let count = bytes.count
        guard count > 0 else { throw error(.empty, at: 0) }
        guard count <= NotificationName.maximumBytes else {
            throw error(.tooLong, at: NotificationName.maximumBytes, detail: UInt32(clamping: count))
        }
        var offset = 0
        while offset < count {
            let byte = bytes[offset]
            if byte == Self.dot {
                try endToken(at: offset)
                tokenStart = offset + 1
                tokenCount += 1
                if tokenCount > NotificationName.maximumTokens { throw error(.tooManyTokens, at: tokenStart) }
                offset += 1
            } else if byte > 0x20 && byte < 0x7F {
                offset += 1
            } else if byte < 0x80 {
                throw error(.forbiddenCharacter, at: offset, detail: UInt32(byte))
            } else {
                offset += try lengthOfScalar(at: offset)
            }
        }
        try endToken(at: count)
    }

    private mutating func endToken(at end: Int) throws(NameError) {
        let length = end - tokenStart
        if length > 1 { return }
        if length == 0 { throw error(.emptyToken, at: tokenStart) }
        let byte = bytes[tokenStart]
        guard byte == Self.star || byte == Self.tail else { return }
        guard isPattern else { throw error(.wildcardInName, at: tokenStart, detail: UInt32(byte)) }
        if byte == Self.tail && end != bytes.count { throw error(.misplacedTailWildcard, at: tokenStart) }
        shape.hasWildcards = true
        if tokenStart == 0 { shape.startsWithWildcard = true }
    }

    /// Returns the length of a scalar that is not ASCII. The bounds of its second byte exclude overlong forms,
    /// surrogates and scalars beyond U+10FFFF, as in table 3-7 of the Unicode standard.
    private func lengthOfScalar(at offset: Int) throws(NameError) -> Int {
        let lead = bytes[offset]
        let length: Int
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: throw error(.invalidUTF8, at: offset)
        }
        guard offset + length <= bytes.count, second.contains(bytes[offset + 1]) else {
            throw error(.invalidUTF8, at: offset)
        }
        for index in (offset + 2)..<max(offset + 2, offset + length) where bytes[index] & 0xC0 != 0x80 {
            throw error(.invalidUTF8, at: offset)
        }
        if lead == 0xC2 && bytes[offset + 1] < 0xA0 {
            throw error(.forbiddenCharacter, at: offset, detail: UInt32(bytes[offset + 1]))
        }
        return length
    }

    private func error(_ code: NameError.Code, at offset: Int, detail: UInt32 = 0) -> NameError {
        NameError(code, byteOffset: offset, tokenIndex: tokenCount - 1, isPattern: isPattern, detail: detail)
    }
}

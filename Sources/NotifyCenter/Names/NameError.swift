/// Why a string is not a name or a pattern, and where.
///
/// ``message`` is written for the person who typed the string; ``code``, ``byteOffset`` and ``tokenIndex`` are for code.
public struct NameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that was broken.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// There is not a single byte.
        case empty
        /// More than ``NotificationName/maximumBytes`` bytes.
        case tooLong
        /// More than ``NotificationName/maximumTokens`` tokens.
        case tooManyTokens
        /// A dot at the start, at the end, or after another dot.
        case emptyToken
        /// A space, or a control character: U+0000 to U+0020 and U+007F to U+009F.
        case forbiddenCharacter
        /// Bytes that are not UTF-8: cut short, overlong, a surrogate or beyond U+10FFFF.
        case invalidUTF8
        /// A token that is exactly `*` or `>` in a name. Only patterns have those.
        case wildcardInName
        /// A token that is exactly `>` before the last one.
        case misplacedTailWildcard
    }

    /// The rule that was broken.
    public let code: Code

    /// Where the string stops being valid, in bytes of UTF-8 from its start.
    public let byteOffset: Int

    /// The token in which that is, counted from 0.
    public let tokenIndex: Int

    /// Whether the string was meant as a pattern.
    public let isPattern: Bool

    /// The offending scalar or byte, or the length of what is too long.
    private let detail: UInt32

    package init(_ code: Code, byteOffset: Int, tokenIndex: Int, isPattern: Bool, detail: UInt32 = 0) {
        self.code = code
        self.byteOffset = byteOffset
        self.tokenIndex = tokenIndex
        self.isPattern = isPattern
        self.detail = detail
    }

    /// What is wrong and where, in one line without a full stop.
    public var message: String {
        let subject = isPattern ? "pattern" : "name"
        let place = "token \(tokenIndex + 1), byte offset \(byteOffset)"
        switch code {
        case .empty:
            return "the \(subject) is empty"
        case .tooLong:
            return "the \(subject) has \(detail) bytes; at most \(NotificationName.maximumBytes) are allowed"
        case .tooManyTokens:
            return "the \(subject) has more than \(NotificationName.maximumTokens) tokens (\(place))"
        case .emptyToken:
            return "the \(subject) has an empty token (\(place))"
        case .forbiddenCharacter:
            let digits = String(detail, radix: 16, uppercase: true)
            let scalar = "U+" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
            let kind = detail == 0x20 ? "a space" : "the control character \(scalar)"
            return "the \(subject) contains \(kind) (\(place))"
        case .invalidUTF8:
            return "the \(subject) is not valid UTF-8 (\(place))"
        case .wildcardInName:
            let wildcard = detail == 0x2A ? "*" : ">"
            return "a name can't contain the wildcard '\(wildcard)'; only patterns can (\(place))"
        case .misplacedTailWildcard:
            return "the wildcard '>' must be the last token of the pattern (\(place))"
        }
    }

    /// The ``message``.
    public var description: String { message }
}

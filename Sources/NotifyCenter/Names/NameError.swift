/// An error that describes why a string is not a valid name or pattern, and the position of the first violation.
///
/// ``message`` is meant for the person who wrote the string; ``code``, ``byteOffset`` and ``tokenIndex`` are meant for
/// programs.
public struct NameError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule that was broken.
    public enum Code: String, Hashable, Sendable, CaseIterable {
        /// The string is empty.
        case empty
        /// The string has more than ``NotificationName/maximumBytes`` bytes.
        case tooLong
        /// The string has more than ``NotificationName/maximumTokens`` tokens.
        case tooManyTokens
        /// A token is empty: there is a dot at the start, at the end, or after another dot.
        case emptyToken
        /// The string contains a space or a control character: U+0000 to U+0020 or U+007F to U+009F.
        case forbiddenCharacter
        /// The bytes are not valid UTF-8: for example truncated, overlong, a surrogate, or beyond U+10FFFF.
        case invalidUTF8
        /// A token of a name is exactly `*` or `>`, which only patterns can have.
        case wildcardInName
        /// A token of a pattern, other than the last one, is exactly `>`.
        case misplacedTailWildcard
    }

    /// The rule that was broken.
    public let code: Code

    /// The position at which the string becomes invalid, in bytes of UTF-8 from its start.
    public let byteOffset: Int

    /// The index of the token at this position, starting at 0.
    public let tokenIndex: Int

    /// Whether the string was checked as a pattern.
    public let isPattern: Bool

    /// The invalid scalar or byte, or the length of a string that is too long.
    private let detail: UInt32

    package init(_ code: Code, byteOffset: Int, tokenIndex: Int, isPattern: Bool, detail: UInt32 = 0) {
        self.code = code
        self.byteOffset = byteOffset
        self.tokenIndex = tokenIndex
        self.isPattern = isPattern
        self.detail = detail
    }

    /// A description of the error and its position, in one line without a full stop.
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

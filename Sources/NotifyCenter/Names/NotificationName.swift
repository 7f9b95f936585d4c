/// What a notification is about: `orders.created`, `sensor.kitchen.temperature`.
///
/// A name is 1 to 255 bytes of UTF-8 in at most 32 tokens separated by dots. No token is empty, none has a space or a
/// control character in it, and none is exactly `*` or `>`, which stand for other tokens in a ``NamePattern``. Names are
/// case-sensitive and equal only if their bytes are: unlike strings, they are not normalised.
public struct NotificationName: Sendable, CustomStringConvertible {
    /// The most bytes a name or a pattern can have.
    public static let maximumBytes = 255

    /// The most tokens a name or a pattern can have.
    public static let maximumTokens = 32

    /// The name as it is written.
    public let string: String

    /// Names are made once and posted often, so they are hashed when they are made.
    let hash: UInt64

    /// Makes a name of a string that follows the rules.
    ///
    /// - Throws: ``NameError`` that says which rule was broken and where.
    public init(_ string: String) throws(NameError) {
        var string = string
        string.makeContiguousUTF8()
        self.hash = try string.withUTF8Bytes { bytes in
            Result { () throws(NameError) in
                try Self.validate(utf8: bytes)
                return KeyedHash.ofProcess(bytes)
            }
        }.get()
        self.string = string
    }

    /// Makes a name of a literal in the source.
    ///
    /// - Precondition: The literal follows the rules. Breaking them is a mistake in the program and stops it here; use
    ///   ``init(_:)`` for a name that is not known when the program is written.
    public init(literal: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        do {
            try self.init(literal.description)
        } catch {
            preconditionFailure("'\(literal)': \(error.message)", file: file, line: line)
        }
    }

    /// Makes a name of bytes that came from elsewhere.
    package init(utf8: UnsafeRawBufferPointer) throws(NameError) {
        try Self.validate(utf8: utf8)
        self.init(unchecked: String(decoding: utf8, as: UTF8.self))
    }

    /// Takes any string for a name, also one that breaks the rules, which in-process names may.
    package init(unchecked string: String) {
        var string = string
        string.makeContiguousUTF8()
        self.hash = string.withUTF8Bytes { KeyedHash.ofProcess($0) }
        self.string = string
    }

    /// Checks bytes against the rules for names. Allocates nothing.
    package static func validate(utf8: UnsafeRawBufferPointer) throws(NameError) {
        if PlainNameScan.accepts(utf8) { return }
        _ = try NameGrammar.check(utf8, isPattern: false)
    }

    /// The name as it is written.
    public var description: String { string }

    /// Hands out the bytes of the name, which are only valid during the call.
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        string.withUTF8Bytes(body)
    }
}

extension NotificationName: ExpressibleByStringLiteral {
    /// Makes a name of a literal in the source: `let paid: NotificationName = "orders.paid"`.
    ///
    /// - Precondition: The literal follows the rules. Breaking them is a mistake in the program and stops it here.
    public init(stringLiteral: StaticString) {
        self.init(literal: stringLiteral)
    }
}

extension NotificationName: Hashable {
    /// Equality of strings would follow Unicode's canonical equivalence; names are their bytes.
    public static func == (left: NotificationName, right: NotificationName) -> Bool {
        left.hash == right.hash && left.string.hasSameBytes(as: right.string)
    }

    /// Feeds the hash of the bytes to the hasher.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

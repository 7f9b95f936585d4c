/// The name of a notification, such as `orders.created` or `sensor.kitchen.temperature`.
///
/// A name has 1 to 255 bytes of UTF-8, in at most 32 tokens separated by dots. No token is empty, contains a space or a
/// control character, or is exactly `*` or `>`, which are the wildcards of a ``NamePattern``. Names are case-sensitive.
/// Two names are equal only if their bytes are equal: unlike strings, names are not compared by canonical equivalence.
public struct NotificationName: Sendable, CustomStringConvertible {
    /// The maximum length of a name or a pattern in bytes.
    public static let maximumBytes = 255

    /// The maximum number of tokens of a name or a pattern.
    public static let maximumTokens = 32

    /// The name as a string.
    public let string: String

    /// The hash of the bytes. Stored, because a name is usually created once and posted often.
    let hash: UInt64

    /// Creates a name from a string.
    ///
    /// - Throws: ``NameError`` if the string is not a valid name.
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

    /// Creates a name from a literal in the source.
    ///
    /// - Precondition: The literal is a valid name. An invalid literal stops the program; use ``init(_:)`` for a name
    ///   that is not known at compile time.
    public init(literal: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        do {
            try self.init(literal.description)
        } catch {
            preconditionFailure("'\(literal)': \(error.message)", file: file, line: line)
        }
    }

    /// Creates a name from UTF-8 bytes.
    ///
    /// - Throws: ``NameError`` if the bytes are not a valid name.
    package init(utf8: UnsafeRawBufferPointer) throws(NameError) {
        try Self.validate(utf8: utf8)
        self.init(unchecked: String(decoding: utf8, as: UTF8.self))
    }

    /// Creates a name from any string without checking it. Names that are used only within a process may be invalid.
    package init(unchecked string: String) {
        var string = string
        string.makeContiguousUTF8()
        self.hash = string.withUTF8Bytes { KeyedHash.ofProcess($0) }
        self.string = string
    }

    /// Checks whether bytes are a valid name. Does not allocate.
    ///
    /// - Throws: ``NameError`` if they are not.
    package static func validate(utf8: UnsafeRawBufferPointer) throws(NameError) {
        if PlainNameScan.accepts(utf8) { return }
        _ = try NameGrammar.check(utf8, isPattern: false)
    }

    /// The name as a string.
    public var description: String { string }

    /// Calls a closure with the bytes of the name, which are valid only during the call.
    @inlinable
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        string.withUTF8Bytes(body)
    }
}

extension NotificationName: ExpressibleByStringLiteral {
    /// Creates a name from a literal in the source: `let paid: NotificationName = "orders.paid"`.
    ///
    /// - Precondition: The literal is a valid name. An invalid literal stops the program.
    public init(stringLiteral: StaticString) {
        self.init(literal: stringLiteral)
    }
}

extension NotificationName: Hashable {
    /// Compares names by their bytes. The `==` of strings would compare by canonical equivalence.
    public static func == (left: NotificationName, right: NotificationName) -> Bool {
        left.hash == right.hash && left.string.hasSameBytes(as: right.string)
    }

    /// Hashes the stored hash of the bytes.
    public func hash(into hasher: inout Hasher) {
        hasher.combine(hash)
    }
}

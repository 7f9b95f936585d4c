/// A pattern that matches names of notifications. In a pattern, the token `*` stands for exactly one token, and `>` as
/// the last token stands for one or more tokens.
///
/// `sensor.*.temperature` matches `sensor.kitchen.temperature`; `sensor.>` matches every name that begins with
/// `sensor.`, but not `sensor` itself; `>` matches every name. Apart from the wildcards, patterns follow the rules for
/// a ``NotificationName``.
public struct NamePattern: Sendable, CustomStringConvertible {
    /// The pattern as a string.
    public let string: String

    private let shape: NameGrammar.Shape

    /// The pattern `>`, which matches every name.
    public static let everyName = NamePattern(literal: ">")

    /// Creates a pattern from a string.
    ///
    /// - Throws: ``NameError`` if the string is not a valid pattern.
    public init(_ string: String) throws(NameError) {
        var string = string
        string.makeContiguousUTF8()
        self.shape = try string.withUTF8Bytes { bytes in
            Result { () throws(NameError) in try NameGrammar.check(bytes, isPattern: true) }
        }.get()
        self.string = string
    }

    /// Creates a pattern from a literal in the source.
    ///
    /// - Precondition: The literal is a valid pattern. An invalid literal stops the program; use ``init(_:)-(String)``
    ///   for a pattern that is not known at compile time.
    public init(literal: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        do {
            try self.init(literal.description)
        } catch {
            preconditionFailure("'\(literal)': \(error.message)", file: file, line: line)
        }
    }

    /// Creates a pattern that matches exactly one name.
    public init(_ name: NotificationName) {
        self.string = name.string
        self.shape = NameGrammar.Shape()
    }

    /// Creates a pattern from UTF-8 bytes.
    ///
    /// - Throws: ``NameError`` if the bytes are not a valid pattern.
    package init(utf8: UnsafeRawBufferPointer) throws(NameError) {
        self.shape = try NameGrammar.check(utf8, isPattern: true)
        self.string = String(decoding: utf8, as: UTF8.self)
    }

    /// Checks whether bytes are a valid pattern. Does not allocate.
    ///
    /// - Throws: ``NameError`` if they are not.
    package static func validate(utf8: UnsafeRawBufferPointer) throws(NameError) {
        _ = try NameGrammar.check(utf8, isPattern: true)
    }

    /// Whether the pattern has no wildcards, and so matches exactly one name.
    public var isExact: Bool { !shape.hasWildcards }

    /// Whether the first token is a wildcard. A `CenterCore` with a `reservedFirstToken` does not match such a pattern
    /// with names that begin with that token; `matches` does.
    package var startsWithWildcard: Bool { shape.startsWithWildcard }

    /// The pattern as a string.
    public var description: String { string }

    /// Calls a closure with the bytes of the pattern, which are valid only during the call.
    @inlinable
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        string.withUTF8Bytes(body)
    }
}

extension NamePattern: ExpressibleByStringLiteral {
    /// Creates a pattern from a literal in the source: `let all: NamePattern = "orders.*"`.
    ///
    /// - Precondition: The literal is a valid pattern. An invalid literal stops the program.
    public init(stringLiteral: StaticString) {
        self.init(literal: stringLiteral)
    }
}

// MARK: - Matching

extension NamePattern {
    /// Matches the pattern against a name.
    ///
    /// - Returns: Whether the pattern matches the name.
    public func matches(_ name: NotificationName) -> Bool {
        name.withUTF8 { matches(utf8: $0) }
    }

    /// Matches the pattern against the bytes of a name. Does not allocate. The bytes need not be a valid name: each
    /// part between dots counts as a token, even if it is empty.
    ///
    /// - Returns: Whether the pattern matches the name.
    package func matches(utf8 name: UnsafeRawBufferPointer) -> Bool {
        withUTF8 { pattern in
            guard shape.hasWildcards else { return pattern.hasSameBytes(as: name) }
            return Self.walk(pattern: pattern, name: name)
        }
    }

    private static func walk(pattern: UnsafeRawBufferPointer, name: UnsafeRawBufferPointer) -> Bool {
        let dot = UInt8(ascii: ".")
        var (inPattern, inName) = (0, 0)
        while true {
            let isLastToken = inPattern + 1 == pattern.count
            let isSingle = isLastToken || pattern[inPattern + 1] == dot
            if isLastToken && pattern[inPattern] == UInt8(ascii: ">") { return true }
            if isSingle && pattern[inPattern] == UInt8(ascii: "*") {
                inPattern += 1
                while inName < name.count && name[inName] != dot { inName += 1 }
            } else {
                while inPattern < pattern.count && inName < name.count && pattern[inPattern] == name[inName]
                    && pattern[inPattern] != dot
                {
                    inPattern += 1
                    inName += 1
                }
            }
            let patternEnds = inPattern == pattern.count
            let nameEnds = inName == name.count
            if patternEnds || nameEnds { return patternEnds && nameEnds }
            guard pattern[inPattern] == dot && name[inName] == dot else { return false }
            inPattern += 1
            inName += 1
        }
    }
}

extension NamePattern: Hashable {
    /// Compares patterns by their bytes, like names. A pattern made from an unchecked name such as `a.*` has no
    /// wildcards, and is not equal to the pattern `a.*`.
    public static func == (left: NamePattern, right: NamePattern) -> Bool {
        left.isExact == right.isExact
            && left.withUTF8 { left in right.withUTF8 { right in left.hasSameBytes(as: right) } }
    }

    /// Hashes the bytes of the pattern.
    public func hash(into hasher: inout Hasher) {
        withUTF8 { hasher.combine(bytes: $0) }
    }
}

// MARK: - Order

extension NamePattern {
    /// Returns the patterns sorted by their bytes, without duplicates, so that equal sets give equal arrays.
    package static func sortedUniquely(_ patterns: [NamePattern]) -> [NamePattern] {
        var unique: [NamePattern] = []
        unique.reserveCapacity(patterns.count)
        for pattern in patterns.sorted(by: precedes) where unique.last != pattern { unique.append(pattern) }
        return unique
    }

    private static func precedes(_ left: NamePattern, _ right: NamePattern) -> Bool {
        left.withUTF8 { left in right.withUTF8 { right in left.precedes(right) } }
    }

    /// The length in bytes of UTF-8.
    package var byteCount: Int { string.utf8.count }

    package var tokenCount: Int {
        withUTF8 { bytes in bytes.reduce(1) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) } }
    }
}

/// Which names somebody wants: a name in which `*` stands for exactly one token and a last `>` for one or more.
///
/// `sensor.*.temperature` matches `sensor.kitchen.temperature`; `sensor.>` matches everything that begins with `sensor.`,
/// but not `sensor` itself; `>` matches every name. Apart from the wildcards, patterns follow the rules of
/// ``NotificationName``.
public struct NamePattern: Sendable, CustomStringConvertible {
    /// The pattern as it is written.
    public let string: String

    private let shape: NameGrammar.Shape

    /// `>`, which matches every name.
    public static let everyName = NamePattern(literal: ">")

    /// Makes a pattern of a string that follows the rules.
    ///
    /// - Throws: ``NameError`` that says which rule was broken and where.
    public init(_ string: String) throws(NameError) {
        var string = string
        string.makeContiguousUTF8()
        self.shape = try string.withUTF8Bytes { bytes in
            Result { () throws(NameError) in try NameGrammar.check(bytes, isPattern: true) }
        }.get()
        self.string = string
    }

    /// Makes a pattern of a literal in the source.
    ///
    /// - Precondition: The literal follows the rules. Breaking them is a mistake in the program and stops it here; use
    ///   ``init(_:)-(String)`` for a pattern that is not known when the program is written.
    public init(literal: StaticString, file: StaticString = #fileID, line: UInt = #line) {
        do {
            try self.init(literal.description)
        } catch {
            preconditionFailure("'\(literal)': \(error.message)", file: file, line: line)
        }
    }

    /// Makes the pattern that matches one name only.
    public init(_ name: NotificationName) {
        self.string = name.string
        self.shape = NameGrammar.Shape()
    }

    /// Makes a pattern of bytes that came from elsewhere.
    package init(utf8: UnsafeRawBufferPointer) throws(NameError) {
        self.shape = try NameGrammar.check(utf8, isPattern: true)
        self.string = String(decoding: utf8, as: UTF8.self)
    }

    /// Checks bytes against the rules for patterns. Allocates nothing.
    package static func validate(utf8: UnsafeRawBufferPointer) throws(NameError) {
        _ = try NameGrammar.check(utf8, isPattern: true)
    }

    /// Whether the pattern has no wildcard and so matches one name only.
    public var isExact: Bool { !shape.hasWildcards }

    /// Whether the first token is a wildcard. Such a pattern does not reach names that are reserved.
    package var startsWithWildcard: Bool { shape.startsWithWildcard }

    /// The pattern as it is written.
    public var description: String { string }

    /// Hands out the bytes of the pattern, which are only valid during the call.
    package func withUTF8<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        string.withUTF8Bytes(body)
    }
}

extension NamePattern: ExpressibleByStringLiteral {
    /// Makes a pattern of a literal in the source: `let all: NamePattern = "orders.*"`.
    ///
    /// - Precondition: The literal follows the rules. Breaking them is a mistake in the program and stops it here.
    public init(stringLiteral: StaticString) {
        self.init(literal: stringLiteral)
    }
}

// MARK: - Matching

extension NamePattern {
    /// Whether the name is one that the pattern stands for.
    public func matches(_ name: NotificationName) -> Bool {
        name.withUTF8 { matches(utf8: $0) }
    }

    /// Whether the name with these bytes is one that the pattern stands for. Allocates nothing. The bytes may be any; what
    /// is between two dots counts as a token, also if it is empty.
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
    /// As with names, equality is that of the bytes. An unchecked name may look like a pattern and still is none.
    public static func == (left: NamePattern, right: NamePattern) -> Bool {
        left.isExact == right.isExact
            && left.withUTF8 { left in right.withUTF8 { right in left.hasSameBytes(as: right) } }
    }

    /// Feeds the bytes to the hasher.
    public func hash(into hasher: inout Hasher) {
        withUTF8 { hasher.combine(bytes: $0) }
    }
}

// MARK: - Order

extension NamePattern {
    /// The patterns in the order of their bytes, each once: the same set gives the same result.
    package static func sortedUniquely(_ patterns: [NamePattern]) -> [NamePattern] {
        var unique: [NamePattern] = []
        unique.reserveCapacity(patterns.count)
        for pattern in patterns.sorted(by: precedes) where unique.last != pattern { unique.append(pattern) }
        return unique
    }

    private static func precedes(_ left: NamePattern, _ right: NamePattern) -> Bool {
        left.withUTF8 { left in right.withUTF8 { right in left.precedes(right) } }
    }

    /// The length in bytes.
    package var byteCount: Int { string.utf8.count }

    package var tokenCount: Int {
        withUTF8 { bytes in bytes.reduce(1) { $0 + ($1 == UInt8(ascii: ".") ? 1 : 0) } }
    }
}

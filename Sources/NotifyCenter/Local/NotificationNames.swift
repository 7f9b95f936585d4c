/// A type that represents observable names: a name, a pattern, a string with either, or an array of these. A post whose
/// name matches several elements is delivered once.
///
/// A ``NotificationName`` and a ``NamePattern`` are already checked, so observing them does not throw. A `String` is
/// checked when it is observed, so observing it needs `try`.
public protocol NotificationNames<Failure>: Sendable {
    /// The error for an invalid name: ``NameError`` for strings, `Never` for types that are already checked.
    associatedtype Failure: Error = Never

    /// The checked names.
    var observedNames: ObservedNames { get throws(Failure) }
}

/// The names of an observation.
public struct ObservedNames: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case name(NotificationName)
        case patterns([NamePattern])
    }

    let kind: Kind

    /// The names and patterns as they are written, separated by spaces.
    public var description: String {
        switch kind {
        case .name(let name): name.string
        case .patterns(let patterns): patterns.map(\.string).joined(separator: " ")
        }
    }

    /// Matches a name against these names and patterns.
    ///
    /// - Returns: Whether the name is one of the names or matches one of the patterns.
    public func matches(_ name: NotificationName) -> Bool {
        switch kind {
        case .name(let own): own == name
        case .patterns(let patterns): patterns.contains { $0.matches(name) }
        }
    }
}

extension NotificationName: NotificationNames {
    /// This name.
    public var observedNames: ObservedNames { ObservedNames(kind: .name(self)) }
}

extension NamePattern: NotificationNames {
    /// The names that the pattern matches.
    public var observedNames: ObservedNames {
        // A pattern without wildcards equals the name with the same text.
        isExact ? NotificationName(unchecked: string).observedNames : ObservedNames(kind: .patterns([self]))
    }
}

extension String: NotificationNames {
    /// The names that the string matches as a ``NamePattern``.
    ///
    /// - Throws: ``NameError`` if the string is not a valid name or pattern.
    public var observedNames: ObservedNames {
        get throws(NameError) { try NamePattern(self).observedNames }
    }
}

extension Array: NotificationNames where Element: NotificationNames {
    /// The error of an invalid element.
    public typealias Failure = Element.Failure

    /// The names that any element matches.
    public var observedNames: ObservedNames {
        get throws(Element.Failure) {
            if count == 1 { return try self[0].observedNames }
            var patterns: [NamePattern] = []
            for names in self {
                switch try names.observedNames.kind {
                case .name(let name): patterns.append(NamePattern(name))
                case .patterns(let others): patterns += others
                }
            }
            return ObservedNames(kind: .patterns(patterns))
        }
    }
}

extension NotificationNames where Self == NamePattern {
    /// A pattern that matches every name.
    public static var every: NamePattern { .everyName }
}

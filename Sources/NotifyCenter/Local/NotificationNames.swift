/// What can be observed by name: a name, a pattern, a string with either, or an array of several. A name that several
/// elements match is delivered once.
///
/// A ``NotificationName`` and a ``NamePattern`` have been checked, so observing them throws nothing. A `String` is checked as
/// the observation begins, which therefore needs `try`.
public protocol NotificationNames<Failure>: Sendable {
    /// What breaking a rule throws: ``NameError`` for strings, `Never` for what has been checked.
    associatedtype Failure: Error = Never

    /// The names, as a center looks for them.
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

    /// Whether a name is one of them.
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
    /// All names that the pattern matches.
    public var observedNames: ObservedNames {
        // One name is the same however it was written.
        isExact ? NotificationName(unchecked: string).observedNames : ObservedNames(kind: .patterns([self]))
    }
}

extension String: NotificationNames {
    /// All names that the string matches as a ``NamePattern``.
    ///
    /// - Throws: ``NameError`` if it breaks a rule.
    public var observedNames: ObservedNames {
        get throws(NameError) { try NamePattern(self).observedNames }
    }
}

extension Array: NotificationNames where Element: NotificationNames {
    /// What its elements throw.
    public typealias Failure = Element.Failure

    /// All names that an element matches.
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
    /// Every name.
    public static var every: NamePattern { .everyName }
}

/// What can be observed by name: one name, a pattern, or an array of several, of which an overlap is delivered once.
public protocol NotificationNames: Sendable {
    /// The names, as a center looks for them.
    var observedNames: ObservedNames { get }
}

/// The names of an observation.
public struct ObservedNames: Sendable, Hashable, CustomStringConvertible {
    enum Kind: Sendable, Hashable {
        case name(NotificationName)
        case patterns([NamePattern])
    }

    let kind: Kind

    /// As they are written.
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

extension Array: NotificationNames where Element: NotificationNames {
    /// All names that one of the elements stands for.
    public var observedNames: ObservedNames {
        if count == 1 { return self[0].observedNames }
        return ObservedNames(
            kind: .patterns(
                flatMap { names -> [NamePattern] in
                    switch names.observedNames.kind {
                    case .name(let name): [NamePattern(name)]
                    case .patterns(let patterns): patterns
                    }
                }))
    }
}

extension NotificationNames where Self == NamePattern {
    /// Every name there is.
    public static var every: NamePattern { .everyName }
}

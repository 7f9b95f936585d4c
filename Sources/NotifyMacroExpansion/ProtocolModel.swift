import SwiftParser

/// A protocol that can be broadcast.
struct ProtocolModel {
    /// The name as written, with backticks.
    let name: String
    /// The attributes of each generated type, such as `@available`, each followed by a space.
    let attributes: String
    /// The access level of each generated type, followed by a space, or empty.
    let level: String
    /// `nonisolated ` if the protocol is nonisolated, or empty.
    let isolation: String
    /// The access level of the members: `public `, `package ` or empty.
    let access: String
    let isSendable: Bool
    let isCodable: Bool
    /// The type aliases of the protocol, as declared.
    let aliases: [String]
    let requirements: [Requirement]

    var broadcasterName: String { "\(name.withoutBackticks)Broadcaster" }
    var methodSetName: String { "\(name.withoutBackticks)Methods" }
    var callName: String { "\(name.withoutBackticks)Call" }
}

/// A method, property or subscript of the protocol.
struct Requirement {
    enum Kind { case method, property, `subscript` }

    let kind: Kind
    /// The name as written, with backticks.
    let name: String
    /// The name of the requirement's case in the calls and of its member in the method set. Unique in the protocol.
    var memberName: String
    /// The attributes and modifiers that the broadcaster repeats, each followed by a space.
    let prefix: String
    let genericParameters: String
    let parameters: [Parameter]
    /// The `where` clause with a leading space, or empty.
    let genericConstraints: String
    let effects: Effects
    /// The result, or nil for `Void`.
    let result: Result?
    let hasSetter: Bool
    let rule: CombinationRule?
    let isOptional: Bool
    /// The name of the call, if `@Topic` sets one.
    let explicitTopic: String?
}

extension Requirement {
    /// The encoded name of the call.
    var topic: String { explicitTopic ?? fullName }

    /// The name with labels, such as `userDidFollow(_:at:)`.
    var fullName: String {
        let name = name.withoutBackticks
        return kind == .property ? name : "\(name)(\(parameters.map { "\($0.label ?? "_"):" }.joined()))"
    }

    /// The name with the labels appended as words: `movedTo` for `moved(to:)`.
    var labelledName: String {
        let labels = parameters.compactMap { $0.label?.withoutBackticks }
        if labels.isEmpty { return name }
        return name.withoutBackticks + labels.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// Returns a name for a local variable that differs from the names of the parameters.
    func local(_ name: String) -> String {
        parameters.contains { $0.name == name } ? local("\(name)_") : name
    }
}

/// The type of a requirement's result.
struct Result {
    /// The type as written in the requirement.
    let type: String
    /// The type of a variable that holds the result: without `sending`, and with `?` for `!`.
    let valueType: String
    let isOptional: Bool
}

extension String {
    var withoutBackticks: String { filter { $0 != "`" } }
}

/// `async` and `throws`.
struct Effects {
    var isAsync = false
    var isThrowing = false

    /// The specifiers in a declaration, with a leading space.
    var specifiers: String { (isAsync ? " async" : "") + (isThrowing ? " throws" : "") }
    /// The keywords before a call, with a trailing space.
    var call: String { (isThrowing ? "try " : "") + (isAsync ? "await " : "") }
}

/// A parameter of a method or subscript.
struct Parameter {
    /// The argument label, or nil if there is none.
    let label: String?
    /// The name inside the method.
    let name: String
    let type: String
    /// The type without specifiers such as `borrowing`.
    let valueType: String
    /// The expression that forwards the parameter, without a label.
    let argument: String

    /// The parameter in a declaration of a function.
    var declaration: String {
        label == name ? "\(name): \(type)" : "\(label ?? "_") \(name): \(type)"
    }

    /// The parameter without its label.
    var withoutLabel: Parameter {
        Parameter(label: nil, name: name, type: type, valueType: valueType, argument: argument)
    }

    /// The argument in a call, with its label.
    var labelledArgument: String { labelled(argument) }

    /// Returns another value with the label of this parameter.
    func labelled(_ value: String) -> String {
        guard let label else { return value }
        // As labels, all keywords but `inout` need no backticks, and the compiler warns about unnecessary backticks.
        let bare = label.withoutBackticks
        let isPlain = bare != "inout" && (bare == "self" || bare.isValidSwiftIdentifier(for: .memberAccess))
        return "\(isPlain ? bare : label): \(value)"
    }
}

/// A rule by which results are combined.
enum CombinationRule {
    case collect
    case first
    case firstOr(String)
    case reduce(initial: String, combine: String)
}

import SwiftParser

/// A protocol that can be broadcast.
struct ProtocolModel {
    /// As written, with backticks.
    let name: String
    /// The attributes of each generated type, such as `@available`, each followed by a space.
    let attributes: String
    /// The access level of each generated type, followed by a space, or empty.
    let level: String
    /// `nonisolated ` if the protocol is, or empty.
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
    /// As written, with backticks.
    let name: String
    /// Its unique name as a case of the calls and a member of the method set.
    var memberName: String
    /// The attributes and modifiers that the broadcaster repeats, each followed by a space.
    let prefix: String
    let genericParameters: String
    let parameters: [Parameter]
    /// With a leading space, or empty.
    let genericConstraints: String
    let effects: Effects
    /// Nil if nothing is returned.
    let result: Result?
    let hasSetter: Bool
    let rule: CombinationRule?
    let isOptional: Bool
    /// The name of the call given by `@Topic`.
    let explicitTopic: String?
}

extension Requirement {
    /// The encoded name of the call.
    var topic: String { explicitTopic ?? fullName }

    /// Name and labels, such as `userDidFollow(_:at:)`.
    var fullName: String {
        let name = name.withoutBackticks
        return kind == .property ? name : "\(name)(\(parameters.map { "\($0.label ?? "_"):" }.joined()))"
    }

    /// The name, with the labels as words: `moved(to:)` is `movedTo`.
    var labelledName: String {
        let labels = parameters.compactMap { $0.label?.withoutBackticks }
        if labels.isEmpty { return name }
        return name.withoutBackticks + labels.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }

    /// A name for a local variable that differs from the names of the parameters.
    func local(_ name: String) -> String {
        parameters.contains { $0.name == name } ? local("\(name)_") : name
    }
}

/// The type of a requirement's result.
struct Result {
    /// The type in the requirement.
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

    /// In a declaration, with a leading space.
    var specifiers: String { (isAsync ? " async" : "") + (isThrowing ? " throws" : "") }
    /// Before a call.
    var call: String { (isThrowing ? "try " : "") + (isAsync ? "await " : "") }
}

/// A parameter of a method or subscript.
struct Parameter {
    /// Nil if there is none.
    let label: String?
    /// Inside the method.
    let name: String
    let type: String
    /// The type without specifiers such as `borrowing`.
    let valueType: String
    /// The expression that forwards it, without a label.
    let argument: String

    /// In a declaration of a function.
    var declaration: String {
        label == name ? "\(name): \(type)" : "\(label ?? "_") \(name): \(type)"
    }

    /// The same without a label.
    var withoutLabel: Parameter {
        Parameter(label: nil, name: name, type: type, valueType: valueType, argument: argument)
    }

    /// In a call.
    var labelledArgument: String { labelled(argument) }

    /// A labelled value in place of the argument.
    func labelled(_ value: String) -> String {
        guard let label else { return value }
        // Only one keyword needs backticks as a label; for the others the compiler warns about them.
        let bare = label.withoutBackticks
        let isPlain = bare != "inout" && (bare == "self" || bare.isValidSwiftIdentifier(for: .memberAccess))
        return "\(isPlain ? bare : label): \(value)"
    }
}

/// How results are combined.
enum CombinationRule {
    case collect
    case first
    case firstOr(String)
    case reduce(initial: String, combine: String)
}

import SwiftDiagnostics
import SwiftParser
import SwiftSyntax
import SwiftSyntaxBuilder

extension RequirementReader {
    struct Markers {
        var rule: CombinationRule?
        var isOptional = false
        var topic: String?
    }

    /// Reads `@Optional`, `@Combine` and `@Topic`, and checks that they fit the requirement.
    mutating func readMarkers(_ parts: RequirementParts) -> Markers {
        var markers = Markers()
        var hasRule = false
        for case .attribute(let attribute) in parts.attributes {
            switch AttributeListSyntax.Element.attribute(attribute).name {
            case "Optional": markers.isOptional = true
            case "Topic": markers.topic = readTopic(attribute)
            case "Combine":
                hasRule = true
                markers.rule = readRule(attribute, for: parts.type)
            default: break
            }
        }
        if isCodable, let type = parts.type {
            report(.untransportable("a result"), at: type)
        } else if let type = parts.type, !hasRule {
            report(.resultWithoutRule, at: type, fixIts: fixIts(addingRuleFor: type))
        }
        if markers.isOptional, case .firstOr = markers.rule { report(.optionalWithAnswer, at: declaration) }
        return markers
    }

    private mutating func readTopic(_ attribute: AttributeSyntax) -> String? {
        let argument = attribute.arguments?.as(LabeledExprListSyntax.self)?.first?.expression
        guard let text = argument?.as(StringLiteralExprSyntax.self)?.representedLiteralValue, !text.isEmpty else {
            report(.topicNotLiteral, at: attribute)
            return nil
        }
        topicNode = Syntax(attribute)
        if !isCodable, let broadcast = parent.attributes.first(where: { $0.name == "Broadcast" }) {
            let codable = AttributeSyntax("@Broadcast(codable)")
            report(
                .topicWithoutForm, at: attribute,
                fixIts: [FixIt("make the calls codable", replacing: broadcast, with: codable)])
        }
        return text
    }
}

// MARK: - Rules

extension RequirementReader {
    private mutating func readRule(_ attribute: AttributeSyntax, for type: TypeSyntax?) -> CombinationRule? {
        guard let type else {
            report(.ruleWithoutResult, at: attribute, fixIts: [removing(attribute)].compactMap { $0 })
            return nil
        }
        guard let argument = attribute.arguments?.as(LabeledExprListSyntax.self)?.first?.expression,
            let rule = Self.rule(argument)
        else {
            report(.unknownRule, at: attribute)
            return nil
        }
        switch rule {
        case .collect where type.isOptional || type.is(TupleTypeSyntax.self) || type.isKnownScalar:
            report(.collectsNoArray(type.trimmedDescription), at: argument)
        case .first where !type.isOptional:
            let answer = ExprSyntax(stringLiteral: ".first(or: <#answer without receivers#>)")
            let fix = FixIt("use '.first(or:)'", replacing: argument, with: answer)
            report(.firstOfNoOptional(type.trimmedDescription), at: argument, fixIts: [fix])
        default: break
        }
        return rule
    }

    /// `.collect`, `.first`, `.first(or: x)`, `.reduce(x, f)` or `.reduce(x) { f }`, with or without the type in front.
    private static func rule(_ expression: ExprSyntax) -> CombinationRule? {
        if let member = expression.as(MemberAccessExprSyntax.self) {
            switch member.declName.baseName.text {
            case "collect": return .collect
            case "first": return .first
            default: return nil
            }
        }
        guard let call = expression.as(FunctionCallExprSyntax.self) else { return nil }
        let name = call.calledExpression.as(MemberAccessExprSyntax.self)?.declName.baseName.text
        let closure = call.trailingClosure.map { ExprSyntax($0) }
        let arguments = (call.arguments.map(\.expression) + [closure].compactMap { $0 }).map(\.trimmedDescription)
        switch (name, arguments.count) {
        case ("first", 1): return .firstOr(arguments[0])
        case ("reduce", 2): return .reduce(initial: arguments[0], combine: arguments[1])
        default: return nil
        }
    }

    private func fixIts(addingRuleFor type: TypeSyntax) -> [FixIt] {
        if type.is(ArrayTypeSyntax.self) { return [.adding(attribute: "@Combine(.collect)", to: declaration)] }
        if type.isOptional { return [.adding(attribute: "@Combine(.first)", to: declaration)] }
        return [
            .adding(attribute: "@Combine(.first(or: <#answer without receivers#>))", to: declaration),
            .adding(attribute: "@Combine(.reduce(<#initial answer#>) { <#$0 and $1#> })", to: declaration),
        ]
    }

    private func removing(_ attribute: AttributeSyntax) -> FixIt? {
        // Only methods have no result.
        guard let method = declaration.as(FunctionDeclSyntax.self) else { return nil }
        let others = method.attributes.filter { $0.id != attribute.id }
        let name = attribute.attributeName.trimmedDescription
        return FixIt("remove '@\(name)'", replacing: method, with: method.with(\.attributes, others))
    }
}

extension TypeSyntax {
    fileprivate var isOptional: Bool {
        if self.is(OptionalTypeSyntax.self) || self.is(ImplicitlyUnwrappedOptionalTypeSyntax.self) { return true }
        return self.as(IdentifierTypeSyntax.self)?.name.text == "Optional"
    }

    /// What is surely no array. Others the compiler checks, as they may be aliases of one.
    fileprivate var isKnownScalar: Bool {
        ["Bool", "Int", "UInt", "Double", "Float"].contains(trimmedDescription)
    }
}

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

    /// Reads `@Optional`, `@Combined` and `@Topic`, and checks that they match the requirement.
    mutating func readMarkers(_ parts: RequirementParts) -> Markers {
        var markers = Markers()
        let optional = marker("Optional", of: parts.attributes)
        let combine = marker("Combined", of: parts.attributes)
        markers.isOptional = optional != nil
        if let topic = marker("Topic", of: parts.attributes) { markers.topic = readTopic(topic) }
        if let combine { markers.rule = readRule(combine, for: parts.type) }
        if isCodable, let type = parts.type {
            report(.notEncodable("a result"), at: type)
        } else if let type = parts.type, combine == nil {
            report(.resultWithoutRule, at: type, fixIts: fixIts(addingRuleFor: type))
        }
        if let optional, case .firstOr = markers.rule {
            report(.optionalWithAnswer, at: optional, fixIts: removing(optional))
        }
        return markers
    }

    /// Returns the first attribute of this name, and reports the others as duplicates.
    private mutating func marker(_ name: String, of attributes: AttributeListSyntax) -> AttributeSyntax? {
        // Not `filter`, whose results are detached from the source file.
        let markers = attributes.compactMap { $0.name == name ? $0.as(AttributeSyntax.self) : nil }
        for repeated in markers.dropFirst() { report(.repeated(name), at: repeated, fixIts: removing(repeated)) }
        return markers.first
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
                fixIts: [FixIt("replace with '@Broadcast(codable)'", replacing: broadcast, with: codable)])
        }
        return text
    }
}

// MARK: - Rules

extension RequirementReader {
    private mutating func readRule(_ attribute: AttributeSyntax, for type: TypeSyntax?) -> CombinationRule? {
        guard let type else {
            report(.ruleWithoutResult, at: attribute, fixIts: removing(attribute))
            return nil
        }
        guard let argument = attribute.arguments?.as(LabeledExprListSyntax.self)?.first?.expression,
            let rule = Self.rule(argument)
        else {
            report(.unknownRule, at: attribute)
            return nil
        }
        switch rule {
        case .collect where type.isKnownNonArray:
            report(.collectRequiresArray(type.trimmedDescription), at: argument)
        case .first where !type.isOptional:
            let answer = ExprSyntax(stringLiteral: ".first(or: <#result without receivers#>)")
            let fix = FixIt("use '.first(or:)'", replacing: argument, with: answer)
            report(.firstRequiresOptional(type.trimmedDescription), at: argument, fixIts: [fix])
        default: break
        }
        return rule
    }

    /// Parses `.collect`, `.first`, `.first(or: x)`, `.reduce(x, f)` or `.reduce(x) { f }`, with or without a type in
    /// front.
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
        if type.bare.is(ArrayTypeSyntax.self) { return [.adding(attribute: "@Combined(.collect)", to: declaration)] }
        if type.isOptional { return [.adding(attribute: "@Combined(.first)", to: declaration)] }
        return [
            .adding(attribute: "@Combined(.first(or: <#result without receivers#>))", to: declaration),
            .adding(attribute: "@Combined(.reduce(<#initial result#>) { <#$0 and $1#> })", to: declaration),
        ]
    }

    private func removing(_ attribute: AttributeSyntax) -> [FixIt] {
        FixIt.removing(attribute, from: declaration).map { [$0] } ?? []
    }
}

import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Reads one member of a protocol, and collects its diagnostics.
struct RequirementReader {
    let declaration: DeclSyntax
    let parent: ProtocolDeclSyntax
    let isSendable: Bool
    let isCodable: Bool
    var diagnostics: [Diagnostic] = []
    var requirement: Requirement?
    /// The `@Topic` attribute, for diagnostics.
    var topicNode: Syntax?

    init(_ declaration: DeclSyntax, in parent: ProtocolDeclSyntax, isSendable: Bool, isCodable: Bool) {
        self.declaration = declaration
        self.parent = parent
        self.isSendable = isSendable
        self.isCodable = isCodable
    }

    mutating func read() {
        if let method = declaration.as(FunctionDeclSyntax.self) {
            read(method)
        } else if let property = declaration.as(VariableDeclSyntax.self) {
            read(property)
        } else if let subscripting = declaration.as(SubscriptDeclSyntax.self) {
            read(subscripting)
        } else if declaration.is(InitializerDeclSyntax.self) {
            report(.initializer, at: declaration)
        } else if let type = declaration.as(AssociatedTypeDeclSyntax.self) {
            report(.associatedType(type.name.text), at: type)
        } else if declaration.is(IfConfigDeclSyntax.self) {
            report(.conditional, at: declaration)
        } else if !declaration.is(TypeAliasDeclSyntax.self) {
            report(.otherMember, at: declaration)
        }
    }

    mutating func report(_ message: BroadcastDiagnostic, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
        diagnostics.append(message.diagnostic(at: node, fixIts: fixIts))
    }
}

// MARK: - Kinds of requirements

extension RequirementReader {
    private mutating func read(_ method: FunctionDeclSyntax) {
        if case .binaryOperator = method.name.tokenKind { return report(.operatorMember, at: method.name) }
        if case .prefixOperator = method.name.tokenKind { return report(.operatorMember, at: method.name) }
        if case .postfixOperator = method.name.tokenKind { return report(.operatorMember, at: method.name) }
        let signature = method.signature
        let specifiers = signature.effectSpecifiers
        if isCodable, let clause = method.genericParameterClause {
            report(.notEncodable("a generic call"), at: clause)
        }
        // The generated method `dispatch` would need the same availability.
        if isCodable, let attribute = method.attributes.first(where: { $0.name == "available" }) {
            report(.notEncodable("a call with its own '@available'"), at: attribute)
        }
        read(
            .init(
                kind: .method, name: method.name.text, attributes: method.attributes, modifiers: method.modifiers,
                genericParameters: method.genericParameterClause, parameters: signature.parameterClause.parameters,
                constraints: method.genericWhereClause,
                effects: effects(async: specifiers?.asyncSpecifier, throwing: specifiers?.throwsClause),
                type: signature.returnClause?.type.nonVoid, hasSetter: false))
    }

    private mutating func read(_ property: VariableDeclSyntax) {
        if isCodable { return report(.notEncodable("a property"), at: property) }
        guard let binding = property.bindings.first, let type = binding.typeAnnotation?.type,
            let name = binding.pattern.as(IdentifierPatternSyntax.self)?.identifier.text
        else { return report(.otherMember, at: property) }
        let (effects, hasSetter) = readAccessors(binding.accessorBlock)
        read(
            .init(
                kind: .property, name: name, attributes: property.attributes, modifiers: property.modifiers,
                effects: effects, type: type, hasSetter: hasSetter))
    }

    private mutating func read(_ subscripting: SubscriptDeclSyntax) {
        if isCodable { return report(.notEncodable("a subscript"), at: subscripting) }
        let (effects, hasSetter) = readAccessors(subscripting.accessorBlock)
        read(
            .init(
                kind: .subscript, name: "`subscript`", attributes: subscripting.attributes,
                modifiers: subscripting.modifiers, genericParameters: subscripting.genericParameterClause,
                parameters: subscripting.parameterClause.parameters, constraints: subscripting.genericWhereClause,
                effects: effects, type: subscripting.returnClause.type, hasSetter: hasSetter))
    }

    private mutating func readAccessors(_ block: AccessorBlockSyntax?) -> (Effects, hasSetter: Bool) {
        guard case .accessors(let accessors) = block?.accessors else { return (Effects(), false) }
        let getter = accessors.first { $0.accessorSpecifier.tokenKind == .keyword(.get) }?.effectSpecifiers
        let hasSetter = accessors.contains { $0.accessorSpecifier.tokenKind == .keyword(.set) }
        return (effects(async: getter?.asyncSpecifier, throwing: getter?.throwsClause), hasSetter)
    }

    private mutating func effects(async: TokenSyntax?, throwing clause: ThrowsClauseSyntax?) -> Effects {
        var effects = Effects(isAsync: async != nil, isThrowing: clause != nil)
        guard let clause else { return effects }
        let specifier = clause.throwsSpecifier
        if specifier.tokenKind == .keyword(.rethrows) {
            let fixed = specifier.with(\.tokenKind, .keyword(.throws))
            let fix = FixIt("replace 'rethrows' with 'throws'", replacing: specifier, with: fixed)
            report(.rethrowing, at: specifier, fixIts: [fix])
        }
        switch clause.type?.trimmedDescription {
        case nil, "any Error", "any Swift.Error", "Error", "Swift.Error": break
        case "Never": effects.isThrowing = false
        default:
            let plain = ThrowsClauseSyntax(throwsSpecifier: .keyword(.throws))
            let fix = FixIt("replace with 'throws'", replacing: clause, with: plain)
            report(.typedThrows, at: clause, fixIts: [fix])
        }
        return effects
    }
}

// MARK: - All kinds

/// The parts of a method, property or subscript.
struct RequirementParts {
    let kind: Requirement.Kind
    let name: String
    let attributes: AttributeListSyntax
    let modifiers: DeclModifierListSyntax
    var genericParameters: GenericParameterClauseSyntax?
    var parameters: FunctionParameterListSyntax = []
    var constraints: GenericWhereClauseSyntax?
    let effects: Effects
    let type: TypeSyntax?
    let hasSetter: Bool
}

extension RequirementReader {
    private mutating func read(_ parts: RequirementParts) {
        if !readModifiers(parts.modifiers) { return }
        checkSelf()
        let markers = readMarkers(parts)
        let parameters = parts.parameters.enumerated().map { index, parameter in
            readParameter(parameter, at: index, of: parts.kind)
        }
        let requirement = Requirement(
            kind: parts.kind, name: parts.name, memberName: parts.name,
            prefix: Self.prefix(parts.attributes, parts.modifiers),
            genericParameters: parts.genericParameters?.trimmedDescription ?? "", parameters: parameters,
            genericConstraints: parts.constraints.map { " \($0.trimmedDescription)" } ?? "", effects: parts.effects,
            result: parts.type.map(Result.init), hasSetter: parts.hasSetter, rule: markers.rule,
            isOptional: markers.isOptional, explicitTopic: markers.topic)
        let fullName = requirement.fullName
        let reserved: Set = [
            "receivers", "receivers()", "receiverCount", "receiverCount()", "register(_:)", "register(_:for:)",
            "unregister(_:)", "unregister(_:for:)",
        ]
        // 'Methods.self' and 'Methods.Type' cannot name members, not even with backticks.
        let unreachable: Set = ["self", "Type", "Protocol"]
        if reserved.contains(fullName) || unreachable.contains(parts.name.withoutBackticks)
            || isCodable && fullName == "dispatch(_:)"
        {
            report(.reservedName(fullName), at: declaration)
        }
        self.requirement = requirement
    }

    private func removing(_ modifier: DeclModifierSyntax) -> [FixIt] {
        FixIt.removing(modifier, from: declaration).map { [$0] } ?? []
    }

    /// - Returns: Whether to continue reading the requirement.
    private mutating func readModifiers(_ modifiers: DeclModifierListSyntax) -> Bool {
        for modifier in modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.static), .keyword(.class):
                report(.staticMember, at: modifier, fixIts: removing(modifier))
                return false
            case .keyword(.mutating): report(.mutating, at: modifier, fixIts: removing(modifier))
            case .keyword(.optional):
                let fix = FixIt("replace with '@Optional'", replacing: modifier, with: TokenSyntax("@Optional"))
                report(.optionalModifier, at: modifier, fixIts: [fix])
            // 'nonisolated(nonsending)' runs in the caller's isolation.
            case .keyword(.nonisolated) where !isSendable && modifier.detail == nil:
                report(.nonisolated, at: modifier, fixIts: [.inheriting("Sendable", in: parent)])
            default: break
            }
        }
        return true
    }

    private mutating func checkSelf() {
        let finder = SelfFinder(viewMode: .sourceAccurate)
        finder.walk(declaration)
        for found in finder.found {
            var type = "any \(parent.name.text)"
            if found.parent?.is(OptionalTypeSyntax.self) == true { type = "(\(type))" }
            let fix = FixIt("replace 'Self' with '\(type)'", replacing: found, with: TypeSyntax(stringLiteral: type))
            report(.selfType, at: found, fixIts: [fix])
        }
    }

    /// The attributes and modifiers that the generated method repeats.
    private static func prefix(_ attributes: AttributeListSyntax, _ modifiers: DeclModifierListSyntax) -> String {
        let markers: Set = ["Optional", "Combined", "Topic"]
        let kept = attributes.filter { !($0.name.map(markers.contains) ?? false) }.map(\.trimmedDescription)
        let modifiers = modifiers.filter { $0.name.tokenKind == .keyword(.nonisolated) }.map(\.trimmedDescription)
        return (kept + modifiers).map { "\($0) " }.joined()
    }
}

/// Finds `Self` used as a type.
private final class SelfFinder: SyntaxVisitor {
    var found: [IdentifierTypeSyntax] = []

    override func visit(_ node: IdentifierTypeSyntax) -> SyntaxVisitorContinueKind {
        if node.name.tokenKind == .keyword(.Self) { found.append(node) }
        return .visitChildren
    }

    override func visit(_ node: AttributeListSyntax) -> SyntaxVisitorContinueKind { .skipChildren }
}

extension TypeSyntax {
    /// The type, or nil for `Void` in any spelling.
    fileprivate var nonVoid: TypeSyntax? {
        let bare = bare
        if bare.as(TupleTypeSyntax.self)?.elements.isEmpty == true { return nil }
        return ["Void", "Swift.Void"].contains(bare.trimmedDescription) ? nil : self
    }
}

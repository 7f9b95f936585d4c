import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// Reads a protocol, and collects its diagnostics.
struct ProtocolReader {
    let attribute: AttributeSyntax
    /// Whether the protocol is not nested in a type.
    let isOutermost: Bool
    var diagnostics: [Diagnostic] = []
    var isSendable = false
    var isCodable = false

    init(attribute: AttributeSyntax, isOutermost: Bool) {
        self.attribute = attribute
        self.isOutermost = isOutermost
    }

    /// Reads the protocol.
    ///
    /// - Returns: The protocol, or nil if there are errors.
    mutating func read(_ declaration: some DeclSyntaxProtocol) -> ProtocolModel? {
        guard let declaration = declaration.as(ProtocolDeclSyntax.self) else {
            report(.notAProtocol, at: attribute)
            return nil
        }
        // Both attributes would generate the same types.
        if declaration.attributes.count(where: { $0.name == "Broadcast" }) > 1 {
            report(.repeatedBroadcast, at: attribute)
            return nil
        }
        readForm()
        readHead(of: declaration)
        var readings: [RequirementReader] = []
        for member in declaration.memberBlock.members {
            var reader = RequirementReader(member.decl, in: declaration, isSendable: isSendable, isCodable: isCodable)
            reader.read()
            diagnostics += reader.diagnostics
            readings.append(reader)
        }
        var requirements = readings.compactMap(\.requirement)
        Self.distinguish(&requirements)
        if isCodable { checkTopics(readings) }
        if !isOutermost, requirements.contains(where: \.isOptional) { checkDefaults(of: declaration) }
        if requirements.count > 64 { report(.tooManyMethods(requirements.count), at: declaration.name) }
        if isCodable, diagnostics.isEmpty, requirements.isEmpty {
            report(.noCalls(declaration.name.text), at: declaration.name)
        }
        if diagnostics.contains(where: { $0.diagMessage.severity == .error }) { return nil }
        return ProtocolModel(
            name: declaration.name.text, attributes: Self.attributes(of: declaration),
            level: Self.modifier(of: declaration, among: .public, .package, .internal, .fileprivate, .private),
            isolation: Self.modifier(of: declaration, among: .nonisolated),
            // Members of less visible types need no access level.
            access: Self.modifier(of: declaration, among: .public, .package),
            isSendable: isSendable, isCodable: isCodable,
            aliases: declaration.memberBlock.members.compactMap { Self.alias($0.decl) }, requirements: requirements)
    }

    private mutating func report(_ message: BroadcastDiagnostic, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
        diagnostics.append(message.diagnostic(at: node, fixIts: fixIts))
    }
}

// MARK: - Attribute and inheritance clause

extension ProtocolReader {
    private mutating func readForm() {
        guard let form = attribute.arguments?.as(LabeledExprListSyntax.self)?.first?.expression else { return }
        let name = form.trimmedDescription
        isCodable = ["codable", ".codable", "BroadcastForm.codable", "NotifyBroadcast.codable"].contains(name)
        if isCodable { return }
        let fix = FixIt("replace with 'codable'", replacing: form, with: ExprSyntax("codable"))
        report(.unknownForm(name), at: form, fixIts: [fix])
    }

    private mutating func readHead(of declaration: ProtocolDeclSyntax) {
        var isClassBound = false
        let clause = declaration.inheritanceClause
        for inherited in clause?.inheritedTypes ?? [] {
            for name in Self.parts(of: inherited.type) {
                switch name {
                case "AnyObject", "Swift.AnyObject", "class": isClassBound = true
                case "Sendable", "Swift.Sendable": isSendable = true
                default:
                    let fixIts = clause.map { [FixIt.removing(inherited, from: $0)] } ?? []
                    report(.inherited(name), at: inherited.type, fixIts: fixIts)
                    // The fix-it replaces the only inherited type with 'AnyObject', so the error about its absence is
                    // not needed.
                    if clause?.inheritedTypes.count == 1 { isClassBound = true }
                }
            }
        }
        if !isClassBound {
            let fix = FixIt.inheriting("AnyObject", in: declaration)
            report(.notClassBound(declaration.name.text), at: declaration.name, fixIts: [fix])
        }
        if let types = declaration.primaryAssociatedTypeClause { report(.primaryAssociatedType, at: types) }
        if let clause = declaration.genericWhereClause { report(.constrained, at: clause) }
    }

    private static func parts(of type: TypeSyntax) -> [String] {
        guard let composition = type.as(CompositionTypeSyntax.self) else { return [type.trimmedDescription] }
        return composition.elements.map(\.type.trimmedDescription)
    }

    /// The attributes that the generated types repeat: those that limit availability or visibility.
    private static func attributes(of declaration: ProtocolDeclSyntax) -> String {
        let shared: Set = ["available", "_spi"]
        return declaration.attributes.filter { $0.name.map(shared.contains) ?? false }
            .map { "\($0.trimmedDescription) " }.joined()
    }

    /// Reports optional requirements of a private protocol inside a type: the extension with the defaults cannot access
    /// such a protocol.
    private mutating func checkDefaults(of declaration: ProtocolDeclSyntax) {
        guard let modifier = declaration.modifiers.first(where: { $0.name.tokenKind == .keyword(.private) }) else {
            return
        }
        let shown = modifier.with(\.name.tokenKind, .keyword(.fileprivate))
        let fix = FixIt("replace 'private' with 'fileprivate'", replacing: modifier, with: shown)
        report(.hiddenDefaults, at: modifier, fixIts: [fix])
    }

    private static func alias(_ member: DeclSyntax) -> String? {
        member.as(TypeAliasDeclSyntax.self)?.trimmedDescription
    }

    private static func modifier(of declaration: ProtocolDeclSyntax, among keywords: Keyword...) -> String {
        let kinds = keywords.map { TokenKind.keyword($0) }
        let modifier = declaration.modifiers.first { kinds.contains($0.name.tokenKind) }
        return modifier.map { "\($0.trimmedDescription) " } ?? ""
    }
}

// MARK: - Names

extension ProtocolReader {
    /// Makes the member names of the requirements unique, by adding labels or numbers.
    private static func distinguish(_ requirements: inout [Requirement]) {
        let sharers = Dictionary(grouping: requirements, by: \.name)
        let isAlone = requirements.map { sharers[$0.name]?.count == 1 }
        // The name of one method must not be used for the labelled form of another.
        var taken = Set(zip(requirements, isAlone).filter(\.1).map(\.0.name.withoutBackticks))
        for index in requirements.indices where !isAlone[index] {
            let name = requirements[index].labelledName
            var unique = name
            var number = 1
            while !taken.insert(unique.withoutBackticks).inserted {
                number += 1
                unique = "\(name.withoutBackticks)\(number)"
            }
            requirements[index].memberName = unique
        }
    }

    private mutating func checkTopics(_ readings: [RequirementReader]) {
        var known: [String: RequirementReader] = [:]
        for reading in readings {
            guard let topic = reading.requirement?.topic else { continue }
            guard let other = known[topic] else {
                known[topic] = reading
                continue
            }
            let note = Note(node: Syntax(other.declaration), message: BroadcastDiagnostic.otherTopic)
            let node = reading.topicNode ?? Syntax(reading.declaration)
            diagnostics.append(BroadcastDiagnostic.duplicateTopic(topic).diagnostic(at: node, notes: [note]))
        }
    }
}

extension AttributeListSyntax.Element {
    /// The name of the attribute without its module, or nil for an `#if`.
    var name: String? {
        guard case .attribute(let attribute) = self else { return nil }
        let name = attribute.attributeName
        return name.as(MemberTypeSyntax.self)?.name.text ?? name.trimmedDescription
    }
}

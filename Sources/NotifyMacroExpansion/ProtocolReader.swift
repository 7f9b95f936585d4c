import SwiftDiagnostics
import SwiftSyntax

/// Reads a protocol, and gathers what is wrong with it.
struct ProtocolReader {
    let attribute: AttributeSyntax
    var diagnostics: [Diagnostic] = []
    var isSendable = false
    var isCodable = false

    init(attribute: AttributeSyntax) {
        self.attribute = attribute
    }

    /// The protocol, if nothing is wrong with it but for warnings.
    mutating func read(_ declaration: some DeclSyntaxProtocol) -> ProtocolModel? {
        guard let declaration = declaration.as(ProtocolDeclSyntax.self) else {
            report(.notAProtocol, at: attribute)
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
        if requirements.count > 64 { report(.tooManyMethods(requirements.count), at: declaration.name) }
        if isCodable, declaration.memberBlock.members.isEmpty {
            report(.noCalls(declaration.name.text), at: declaration.name)
        }
        if diagnostics.contains(where: { $0.diagMessage.severity == .error }) { return nil }
        return ProtocolModel(
            name: declaration.name.text, access: Self.access(of: declaration), isSendable: isSendable,
            isCodable: isCodable, requirements: requirements)
    }

    private mutating func report(_ problem: Problem, at node: some SyntaxProtocol, fixIts: [FixIt] = []) {
        diagnostics.append(problem.diagnostic(at: node, fixIts: fixIts))
    }
}

// MARK: - The head

extension ProtocolReader {
    private mutating func readForm() {
        guard let form = attribute.arguments?.as(LabeledExprListSyntax.self)?.first?.expression else { return }
        let name = form.trimmedDescription
        isCodable = ["codable", ".codable", "BroadcastForm.codable", "NotifyBroadcast.codable"].contains(name)
        if !isCodable { report(.unknownForm(name), at: form) }
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
                    // The fix-it puts 'AnyObject' in its place.
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

    private static func access(of declaration: ProtocolDeclSyntax) -> String {
        for modifier in declaration.modifiers {
            switch modifier.name.tokenKind {
            case .keyword(.public), .keyword(.package), .keyword(.fileprivate): return "\(modifier.name.text) "
            // Beside a private protocol; its members must be visible to the file, as those of the protocol are.
            case .keyword(.private): return "fileprivate "
            default: break
            }
        }
        return ""
    }
}

// MARK: - Names

extension ProtocolReader {
    /// Gives each requirement a name of its own: the plain one, or with labels, or with a number.
    private static func distinguish(_ requirements: inout [Requirement]) {
        let plain = Dictionary(grouping: requirements, by: \.name)
        var taken: Set<String> = []
        for index in requirements.indices {
            let requirement = requirements[index]
            let isAlone = plain[requirement.name]?.count == 1
            let name = isAlone ? requirement.name : requirement.labelledName
            var unique = name
            var number = 1
            while !taken.insert(unique).inserted {
                number += 1
                unique = "\(name)\(number)"
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
            let note = Note(node: Syntax(other.declaration), message: Problem.otherTopic)
            let node = reading.topicNode ?? Syntax(reading.declaration)
            diagnostics.append(Problem.duplicateTopic(topic).diagnostic(at: node, notes: [note]))
        }
    }
}

extension AttributeListSyntax.Element {
    /// The attribute's name without the module, if it is one and not an `#if`.
    var name: String? {
        guard case .attribute(let attribute) = self else { return nil }
        let name = attribute.attributeName
        return name.as(MemberTypeSyntax.self)?.name.text ?? name.trimmedDescription
    }
}

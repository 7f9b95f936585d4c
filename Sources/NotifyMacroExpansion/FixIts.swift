import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// What a fix-it says.
private struct Fix: FixItMessage {
    let message: String
    let fixItID: MessageID
}

extension FixIt {
    /// Offers to put a node in the place of another. What is around the old one stays.
    init(_ message: String, replacing old: some SyntaxProtocol, with new: some SyntaxProtocol) {
        let new = new.with(\.leadingTrivia, old.leadingTrivia).with(\.trailingTrivia, old.trailingTrivia)
        let id = MessageID(domain: "NotifyBroadcast", id: message)
        self.init(
            message: Fix(message: message, fixItID: id), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))]
        )
    }

    /// Offers to put an attribute in front of a requirement.
    static func adding(attribute: String, to declaration: DeclSyntax) -> FixIt {
        FixIt(
            "add '\(attribute)'", replacing: declaration,
            with: DeclSyntax(stringLiteral: "\(attribute) \(declaration.trimmedDescription)"))
    }

    /// Offers to take an attribute away.
    static func removing(_ attribute: AttributeSyntax, from declaration: DeclSyntax) -> FixIt? {
        func reduced(_ declaration: some WithAttributesSyntax) -> Syntax {
            Syntax(declaration.with(\.attributes, declaration.attributes.filter { $0.id != attribute.id }))
        }
        guard let reduced = declaration.asProtocol((any WithAttributesSyntax).self).map({ reduced($0) }) else {
            return nil
        }
        let name = attribute.attributeName.trimmedDescription
        return FixIt("remove '@\(name)'", replacing: Syntax(declaration), with: reduced)
    }

    /// Offers to take a modifier away.
    static func removing(_ modifier: DeclModifierSyntax, from declaration: DeclSyntax) -> FixIt? {
        func reduced(_ declaration: some WithModifiersSyntax) -> Syntax {
            Syntax(declaration.with(\.modifiers, declaration.modifiers.filter { $0.id != modifier.id }))
        }
        guard let reduced = declaration.asProtocol((any WithModifiersSyntax).self).map({ reduced($0) }) else {
            return nil
        }
        return FixIt("remove '\(modifier.name.text)'", replacing: Syntax(declaration), with: reduced)
    }

    /// Offers to inherit one more protocol.
    static func inheriting(_ name: String, in declaration: ProtocolDeclSyntax) -> FixIt {
        guard let clause = declaration.inheritanceClause else {
            let named = declaration.name.with(\.tokenKind, .identifier("\(declaration.name.text): \(name)"))
            return FixIt("add '\(name)'", replacing: declaration.name, with: named)
        }
        let inherited = clause.inheritedTypes.map(\.type.trimmedDescription)
        // 'AnyObject' comes first by custom, and 'Sendable' last.
        let types = name == "AnyObject" ? [name] + inherited : inherited + [name]
        return FixIt("add '\(name)'", replacing: clause, with: InheritanceClauseSyntax(types))
    }

    /// Offers not to inherit a type.
    static func removing(_ type: InheritedTypeSyntax, from clause: InheritanceClauseSyntax) -> FixIt {
        let name = type.type.trimmedDescription
        let others = clause.inheritedTypes.filter { $0.id != type.id }.map(\.type.trimmedDescription)
        return others.isEmpty
            ? FixIt(
                "replace '\(name)' with 'AnyObject'", replacing: clause, with: InheritanceClauseSyntax(["AnyObject"]))
            : FixIt("remove '\(name)'", replacing: clause, with: InheritanceClauseSyntax(others))
    }
}

extension InheritanceClauseSyntax {
    fileprivate init(_ types: [String]) {
        let list = types.enumerated().map { index, type in
            InheritedTypeSyntax(
                type: TypeSyntax(stringLiteral: type),
                trailingComma: index == types.count - 1 ? nil : .commaToken(trailingTrivia: .space))
        }
        self.init(colon: .colonToken(trailingTrivia: .space), inheritedTypes: InheritedTypeListSyntax(list))
    }
}

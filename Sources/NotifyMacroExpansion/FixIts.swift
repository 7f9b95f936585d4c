import SwiftDiagnostics
import SwiftSyntax
import SwiftSyntaxBuilder

/// The message of a fix-it.
private struct Fix: FixItMessage {
    let message: String
    let fixItID: MessageID
}

extension FixIt {
    /// Creates a fix-it that replaces a node and keeps its trivia.
    init(_ message: String, replacing old: some SyntaxProtocol, with new: some SyntaxProtocol) {
        let new = new.with(\.leadingTrivia, old.leadingTrivia).with(\.trailingTrivia, old.trailingTrivia)
        let id = MessageID(domain: "NotifyBroadcast", id: message)
        self.init(
            message: Fix(message: message, fixItID: id), changes: [.replace(oldNode: Syntax(old), newNode: Syntax(new))]
        )
    }

    /// A fix-it that adds an attribute to a requirement.
    static func adding(attribute: String, to declaration: DeclSyntax) -> FixIt {
        FixIt(
            "add '\(attribute)'", replacing: declaration,
            with: DeclSyntax(stringLiteral: "\(attribute) \(declaration.trimmedDescription)"))
    }

    /// A fix-it that removes an attribute.
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

    /// A fix-it that removes a modifier.
    static func removing(_ modifier: DeclModifierSyntax, from declaration: DeclSyntax) -> FixIt? {
        func reduced(_ declaration: some WithModifiersSyntax) -> Syntax {
            Syntax(declaration.with(\.modifiers, declaration.modifiers.filter { $0.id != modifier.id }))
        }
        guard let reduced = declaration.asProtocol((any WithModifiersSyntax).self).map({ reduced($0) }) else {
            return nil
        }
        return FixIt("remove '\(modifier.name.text)'", replacing: Syntax(declaration), with: reduced)
    }

    /// A fix-it that adds an inherited type.
    static func inheriting(_ name: String, in declaration: ProtocolDeclSyntax) -> FixIt {
        guard let clause = declaration.inheritanceClause else {
            let named = declaration.name.with(\.tokenKind, .identifier("\(declaration.name.text): \(name)"))
            return FixIt("add '\(name)'", replacing: declaration.name, with: named)
        }
        let inherited = clause.inheritedTypes.map(\.type.trimmedDescription)
        // By convention 'AnyObject' is first, and 'Sendable' last.
        let types = name == "AnyObject" ? [name] + inherited : inherited + [name]
        return FixIt("add '\(name)'", replacing: clause, with: InheritanceClauseSyntax(types))
    }

    /// A fix-it that removes an inherited type, or replaces the only one with `AnyObject`.
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

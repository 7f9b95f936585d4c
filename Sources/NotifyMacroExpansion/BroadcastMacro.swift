public import SwiftSyntax
import SwiftSyntaxBuilder
public import SwiftSyntaxMacros

/// The implementation of `@Broadcast` and `@Broadcast(codable)`: reports diagnostics, or generates the broadcaster.
open class BroadcastMacro: PeerMacro, ExtensionMacro {
    /// Generates the broadcaster, the set of methods and the calls.
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) -> [DeclSyntax] {
        var reader = ProtocolReader(attribute: node, isOutermost: context.lexicalContext.isEmpty)
        let model = reader.read(declaration)
        // Warnings are reported as well, but do not prevent the expansion.
        for diagnostic in reader.diagnostics { context.diagnose(diagnostic) }
        guard let model else { return [] }
        var declarations = [model.broadcaster, model.methodSet]
        if model.isCodable { declarations.append(model.call) }
        return declarations.map { DeclSyntax(stringLiteral: $0) }
    }

    /// Generates the default implementations of optional requirements.
    public static func expansion(
        of node: AttributeSyntax, attachedTo declaration: some DeclGroupSyntax,
        providingExtensionsOf type: some TypeSyntaxProtocol, conformingTo protocols: [TypeSyntax],
        in context: some MacroExpansionContext
    ) -> [ExtensionDeclSyntax] {
        // The peer expansion reports the diagnostics.
        var reader = ProtocolReader(attribute: node, isOutermost: context.lexicalContext.isEmpty)
        guard let text = reader.read(declaration)?.defaults(extending: type.trimmedDescription) else { return [] }
        return DeclSyntax(stringLiteral: text).as(ExtensionDeclSyntax.self).map { [$0] } ?? []
    }
}

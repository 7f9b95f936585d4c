import SwiftDiagnostics
public import SwiftSyntax
public import SwiftSyntaxMacros

/// The implementation of `@Combined`, `@Optional` and `@Topic`, which configure `@Broadcast` and expand to nothing.
open class MarkerMacro: PeerMacro {
    /// Expands to nothing. Reports an attribute outside a broadcast protocol.
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) -> [DeclSyntax] {
        let surroundings = context.lexicalContext.first?.as(ProtocolDeclSyntax.self)
        if surroundings?.attributes.contains(where: { $0.name == "Broadcast" }) != true {
            let marker = node.attributeName.trimmedDescription
            context.diagnose(
                BroadcastDiagnostic.misplacedMarker(marker).diagnostic(
                    at: node, fixIts: fixIts(removing: node, from: declaration)))
        }
        return []
    }

    private static func fixIts(
        removing node: AttributeSyntax, from declaration: some DeclSyntaxProtocol
    ) -> [FixIt] {
        // The compiler passes the attribute detached from the declaration, so the attribute is found by its text.
        let attributes = declaration.asProtocol((any WithAttributesSyntax).self)?.attributes ?? []
        let same = attributes.first { $0.trimmedDescription == node.trimmedDescription }?.as(AttributeSyntax.self)
        return same.flatMap { FixIt.removing($0, from: DeclSyntax(declaration)) }.map { [$0] } ?? []
    }
}

import SwiftDiagnostics
public import SwiftSyntax
public import SwiftSyntaxMacros

/// `@Combined`, `@Optional` and `@Topic` only tell `@Broadcast` something: they make nothing, and belong nowhere else.
open class MarkerMacro: PeerMacro {
    /// Nothing. Says so if the attribute is not where it belongs.
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
        // The compiler hands over the attribute apart from the declaration: it is the one that reads the same.
        let attributes = declaration.asProtocol((any WithAttributesSyntax).self)?.attributes ?? []
        let same = attributes.first { $0.trimmedDescription == node.trimmedDescription }?.as(AttributeSyntax.self)
        return same.flatMap { FixIt.removing($0, from: DeclSyntax(declaration)) }.map { [$0] } ?? []
    }
}

public import SwiftSyntax
public import SwiftSyntaxMacros

/// `@Combine`, `@Optional` and `@Topic` only tell `@Broadcast` something: they make nothing, and belong nowhere else.
open class MarkerMacro: PeerMacro {
    /// Nothing. Says so if the attribute is not where it belongs.
    public static func expansion(
        of node: AttributeSyntax, providingPeersOf declaration: some DeclSyntaxProtocol,
        in context: some MacroExpansionContext
    ) -> [DeclSyntax] {
        let surroundings = context.lexicalContext.first?.as(ProtocolDeclSyntax.self)
        if surroundings?.attributes.contains(where: { $0.name == "Broadcast" }) != true {
            let marker = node.attributeName.trimmedDescription
            context.diagnose(Problem.markerOutside(marker).diagnostic(at: node))
        }
        return []
    }
}

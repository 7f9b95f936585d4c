import NotifyMacroExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler's plug-in behind the macros of NotifyBroadcast.
///
/// What they do is in NotifyMacroExpansion. A test that depends on a plug-in is built for the host with everything beside it,
/// and could then not look into this package's executables.
@main struct NotifyMacros: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        BroadcastMacro.self, CombinedMacro.self, OptionalMacro.self, TopicMacro.self,
    ]
}

// The compiler looks for the types in this module.

final class BroadcastMacro: NotifyMacroExpansion.BroadcastMacro {}

final class CombinedMacro: MarkerMacro {}

final class OptionalMacro: MarkerMacro {}

final class TopicMacro: MarkerMacro {}

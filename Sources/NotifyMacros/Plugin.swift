import NotifyMacroExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plug-in for the macros of NotifyBroadcast.
///
/// The implementation is in NotifyMacroExpansion, because a test target that depends on a plug-in is built for the
/// host, and all other tests with it. Tests that are built for the host can't import this package's executables.
@main struct NotifyMacros: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        BroadcastMacro.self, CombinedMacro.self, OptionalMacro.self, TopicMacro.self,
    ]
}

// `#externalMacro` looks up these types in this module.

final class BroadcastMacro: NotifyMacroExpansion.BroadcastMacro {}

final class CombinedMacro: MarkerMacro {}

final class OptionalMacro: MarkerMacro {}

final class TopicMacro: MarkerMacro {}

import NotifyMacroExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plug-in for the macros of NotifyBroadcast.
///
/// The implementation is in NotifyMacroExpansion, so that no test target depends directly on the plug-in. If one did,
/// SwiftPM would build all tests for the host, and such tests can't import this package's executables.
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

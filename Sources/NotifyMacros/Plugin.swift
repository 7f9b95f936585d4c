import NotifyMacroExpansion
import SwiftCompilerPlugin
import SwiftSyntaxMacros

/// The compiler plug-in for the macros of NotifyBroadcast.
///
/// The implementation is in NotifyMacroExpansion, because a test target that depends on a plug-in is built for the host
/// with all other tests, which then can't import this package's executables.
@main struct NotifyMacros: CompilerPlugin {
    let providingMacros: [any Macro.Type] = [
        BroadcastMacro.self, CombinedMacro.self, OptionalMacro.self, TopicMacro.self,
    ]
}

// `#externalMacro` names the types in this module.

final class BroadcastMacro: NotifyMacroExpansion.BroadcastMacro {}

final class CombinedMacro: MarkerMacro {}

final class OptionalMacro: MarkerMacro {}

final class TopicMacro: MarkerMacro {}

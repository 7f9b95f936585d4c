import Foundation
import NotifyCenter

extension MainActor {
    /// Whether the current code runs on the main actor. `Thread.isMainThread` takes two system calls, so it is
    /// evaluated second.
    nonisolated static var isCurrent: Bool { MainQueue.isCurrent || Thread.isMainThread }

    /// Runs the body in place if the current code runs on the main actor.
    ///
    /// - Returns: Whether the body ran.
    nonisolated static func runIfCurrent(_ body: @MainActor () throws -> Void) rethrows -> Bool {
        guard isCurrent else { return false }
        // Like `assumeIsolated`, but without its check, which would read the thread again.
        try withoutActuallyEscaping(body) { body in try unsafeBitCast(body, to: (() throws -> Void).self)() }
        return true
    }
}

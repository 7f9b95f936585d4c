import Foundation

extension MainActor {
    /// Whether the current code runs on the main actor.
    ///
    /// Checking the thread is not sufficient: a program whose `main` is asynchronous runs the main queue on any of its
    /// threads. Reading the thread also takes two system calls, so the thread is checked second.
    nonisolated static var isCurrent: Bool {
        DispatchQueue.getSpecific(key: mainQueueKey) != nil || Thread.isMainThread
    }

    nonisolated private static let mainQueueKey: DispatchSpecificKey<Void> = {
        let key = DispatchSpecificKey<Void>()
        DispatchQueue.main.setSpecific(key: key, value: ())
        return key
    }()

    /// Runs the body in place if the current code runs on the main actor.
    ///
    /// - Returns: Whether the body ran.
    nonisolated static func runIfCurrent(_ body: @MainActor () throws -> Void) rethrows -> Bool {
        guard isCurrent else { return false }
        // Like `assumeIsolated`, but without the check in `assumeIsolated`, which reads the thread again.
        try withoutActuallyEscaping(body) { body in try unsafeBitCast(body, to: (() throws -> Void).self)() }
        return true
    }
}

import NotifyBroadcast
import TestSupport

protocol PlayerDelegate: Sendable {
    func didStart(_ track: String)
    func mayStop() throws -> Bool
}

final class Screen: PlayerDelegate {
    let name: String
    let journal: Journal
    let onStart: @Sendable (Screen) -> Void
    let failure: Failure?

    init(
        _ name: String, _ journal: Journal, failure: Failure? = nil,
        onStart: @escaping @Sendable (Screen) -> Void = { _ in }
    ) {
        self.name = name
        self.journal = journal
        self.failure = failure
        self.onStart = onStart
    }

    func didStart(_ track: String) {
        journal.note("\(name): \(track)")
        onStart(self)
    }

    func mayStop() throws -> Bool {
        journal.note("\(name): stop?")
        if let failure { throw failure }
        return name != "b"
    }
}

/// A value type, which can't be held weakly.
struct Value: PlayerDelegate {
    func didStart(_ track: String) {}
    func mayStop() throws -> Bool { true }
}

/// A delegate that forwards each call to other delegates.
final class PlayerDelegates: PlayerDelegate {
    let delegates = MulticastDelegate<any PlayerDelegate>()

    func didStart(_ track: String) { delegates.invoke { $0.didStart(track) } }
    func mayStop() throws -> Bool { try delegates.allSatisfy { try $0.mayStop() } }
}

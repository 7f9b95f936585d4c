import NotifyClient
import Synchronization

/// Reports on standard error when the connection to the daemon is lost and when it is restored. Does not report failed
/// attempts to connect.
final class ConnectionReporter: Sendable {
    private enum State {
        case initial, connected, disconnected
    }

    private let state = Mutex(State.initial)

    /// Whether there is a connection.
    var isConnected: Bool { state.withLock { $0 == .connected } }

    /// Whether there is a connection, or was one.
    var wasConnected: Bool { state.withLock { $0 != .initial } }

    var handler: @Sendable (NotificationClient.ConnectionChange) -> Void {
        { self.changed($0) }
    }

    private func changed(_ change: NotificationClient.ConnectionChange) {
        let message = state.withLock { state -> String? in
            switch (change, state) {
            case (.connected, .disconnected):
                state = .connected
                return "reconnected to notifyd"
            case (.connected, _):
                state = .connected
                return nil
            case (.disconnected(let error, _), .connected):
                state = .disconnected
                return "disconnected from notifyd: \(error?.message ?? "the connection was closed"); reconnecting"
            case (.disconnected, _):
                return nil
            }
        }
        if let message { StandardError.write(message) }
    }
}

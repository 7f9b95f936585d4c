import NotifyClient
import Synchronization

/// Reports on standard error when the connection to the daemon is lost and when it is restored, but not failed
/// attempts.
final class ConnectionRemarks: Sendable {
    private enum State {
        case new, connected, away
    }

    private let state = Mutex(State.new)

    var handler: @Sendable (NotifyClient.ConnectionChange) -> Void {
        { self.changed($0) }
    }

    private func changed(_ change: NotifyClient.ConnectionChange) {
        let remark = state.withLock { state -> String? in
            switch (change, state) {
            case (.connected, .away):
                state = .connected
                return "connected to notifyd again"
            case (.connected, _):
                state = .connected
                return nil
            case (.disconnected(let error, _), .connected):
                state = .away
                return "lost notifyd (\(error?.message ?? "the connection broke")); waiting for it to come back"
            case (.disconnected, _):
                return nil
            }
        }
        if let remark { StandardError.say(remark) }
    }
}

import NotifyClient
import Synchronization

/// Says on standard error when the daemon goes away, and when it is back. Attempts in between are nobody's concern.
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
                return "notifyd is gone (\(error?.message ?? "the connection was lost")); waiting for it to come back"
            case (.disconnected, _):
                return nil
            }
        }
        if let remark { StandardError.say(remark) }
    }
}

import NotifyClient

/// A change of a durable subscription while another one is stored: one after the other.
enum BusySubscription {
    /// How long a command waits for changes of other clients.
    private static let limit = Duration.seconds(5)
    private static let pause = Duration.milliseconds(20)

    /// Calls `change` again while the daemon refuses it because of another change.
    ///
    /// - Throws: The error of the last call; `CommandFailure` with `refusedForNow` after five seconds.
    static func whenFree<Result>(_ change: () async throws -> Result) async throws -> Result {
        let end = ContinuousClock.now + limit
        while true {
            do {
                return try await change()
            } catch let error as NotifyError where error.code == .subscriptionInUse && isTemporary(error) {
                guard ContinuousClock.now < end else { throw CommandFailure(.refusedForNow, error.message) }
            }
            try await Task.sleep(for: pause)
        }
    }

    /// Whether the subscription is not in use by a client, which may take long.
    private static func isTemporary(_ error: NotifyError) -> Bool { error.message.hasSuffix("; try again later") }
}

extension ClientConnectionMachine {
    struct Settings: Sendable {
        var backoff: Backoff
        /// The time limit from connecting to the daemon's welcome.
        var greetingTimeout = Duration.seconds(10)
        /// The time limit from the daemon's `closing` to the end of the connection.
        var closingTimeout = Duration.seconds(5)
        /// Whether a failure to connect ends the client if it was never connected before. A full backlog of the
        /// daemon's socket is no such failure.
        var requiresFirstConnection = false
    }
}

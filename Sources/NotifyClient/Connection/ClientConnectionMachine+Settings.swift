extension ClientConnectionMachine {
    struct Settings: Sendable {
        var backoff: Backoff
        /// The time limit from connecting to the daemon's welcome.
        var greetingTimeout = Duration.seconds(10)
        /// The time limit from the daemon's `closing`, or from `stop`, to the end of the connection.
        var closingTimeout = Duration.seconds(5)
        /// Whether a failure of the first attempt ends the client.
        var requiresFirstConnection = false
    }
}

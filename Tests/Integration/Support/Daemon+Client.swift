import NotifyClient

extension Daemon {
    /// The configuration of a client that waits as long as a busy machine takes.
    var patientConfiguration: NotificationClient.Configuration {
        var configuration = NotificationClient.Configuration(socketPath: socket)
        configuration.connectionWait = .seconds(300)
        configuration.requestTimeout = .seconds(300)
        return configuration
    }
}

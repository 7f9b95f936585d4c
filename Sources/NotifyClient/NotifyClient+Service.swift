public import ServiceLifecycle

// The protocol is what lets a `ServiceGroup` take the client; it can't be conformed to without showing it.
extension NotifyClient: Service {
    /// Keeps the client connected until the task is cancelled, the surrounding `ServiceGroup` shuts down, or ``stop()`` is
    /// called.
    ///
    /// Put the client before the services that use it: a group shuts its services down in reverse order. In a service that
    /// is shut down, a subscription ends after the messages that have arrived, and leaving it confirms the acknowledgements.
    /// Then the client is shut down, waits for what is under way (at most ``Configuration/closingTimeout``), and closes the
    /// connection.
    ///
    /// The shutdown waits for a handler that is still running, and a group ignores a second SIGTERM. Set
    /// `maximumGracefulShutdownDuration` and `maximumCancellationDuration` of the `ServiceGroupConfiguration`, so that a
    /// stuck handler cannot keep the process running; <doc:GettingStarted> shows how.
    ///
    /// Where the client is shut down first, this returns when the requests that were sent are answered, and the client
    /// serves open subscriptions until they are left. Subscriptions of tasks that are not shut down themselves end after
    /// half of ``Configuration/closingTimeout``, and the connection is closed after all of it.
    ///
    /// - Throws: ``NotifyError`` where trying again would be useless: `unsupportedVersion`, `forbidden`,
    ///   `invalidSocketPath`, and `noDaemon` where the first connection is required.
    public func run() async throws {
        let core = core
        core.start()
        try await withGracefulShutdownHandler {
            try await core.waitForServiceEnd { core.stop() }
        } onGracefulShutdown: {
            core.shutDownGracefully()
        }
    }
}

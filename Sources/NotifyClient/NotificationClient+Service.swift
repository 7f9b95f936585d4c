public import ServiceLifecycle

// A public conformance, so that programs can add the client to a `ServiceGroup`.
extension NotificationClient: Service {
    /// Keeps the client connected until the task is cancelled, the surrounding `ServiceGroup` shuts down, or ``stop()``
    /// is called.
    ///
    /// List the client before the services that use it, because a group shuts its services down in reverse order. When
    /// a service is shut down, its subscriptions end after the messages that have arrived, and leaving a subscription
    /// confirms its acknowledgements. After these services, the client is shut down: it waits for pending requests, at
    /// most ``Configuration/closingTimeout``, and closes the connection.
    ///
    /// The shutdown waits for a handler that is still running, and a group ignores a second SIGTERM. Set
    /// `maximumGracefulShutdownDuration` and `maximumCancellationDuration` of the `ServiceGroupConfiguration`, so that
    /// a stuck handler cannot keep the process running; <doc:GettingStarted> shows how.
    ///
    /// If the client is shut down before the services that use it, this method returns when the requests sent so far
    /// are answered, and the client serves open subscriptions until they are left. Subscriptions of tasks that are not
    /// shut down end after half of ``Configuration/closingTimeout``. After the whole timeout, the connection is closed
    /// in any case.
    ///
    /// - Throws: ``NotifyError`` for failures that a retry cannot fix: `unsupportedVersion`, `forbidden` and
    ///   `invalidSocketPath`; with ``Configuration/requiresFirstConnection`` also a failure before the first
    ///   connection, such as `noDaemon`.
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

public import ServiceLifecycle

// The protocol is what lets a `ServiceGroup` take the client; it can't be conformed to without showing it.
extension NotifyClient: Service {
    /// Keeps the client connected until the task is cancelled, the surrounding `ServiceGroup` shuts down, or ``stop()`` is
    /// called; then stops it as ``stop()`` does.
    ///
    /// - Throws: ``NotifyError`` where trying again would be useless: `unsupportedVersion`, `forbidden`,
    ///   `invalidSocketPath`, and `noDaemon` where the first connection is required.
    public func run() async throws {
        let core = core
        core.start()
        try await withGracefulShutdownHandler {
            try await core.waitForEnd { core.stop() }
        } onGracefulShutdown: {
            core.stop()
        }
    }
}

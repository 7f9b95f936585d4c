public import Logging

/// A client of notifyd. Posts messages and subscribes to them over one connection.
///
/// ```swift
/// try await withNotificationClient { client in
///     try await client.post("orders.created", "42")
/// }
/// ```
///
/// The client connects when it is started. When the connection is lost, it reconnects with exponential backoff and
/// subscribes again. Posts whose outcome is then unknown fail with ``NotifyError/Code/outcomeUnknown``, and a ``Gap``
/// reports messages that a subscription may have missed.
///
/// Start a client in one of two ways: for the duration of a closure with
/// ``withNotificationClient(configuration:logger:isolation:_:)``, or by adding it to a `ServiceGroup`, which calls
/// ``run()``. All methods may be called from any thread or task.
///
/// - Note: The interface uses only these foreign types: `Logger` of swift-log, `Service` of swift-service-lifecycle and
///   `Date` of Foundation. `NotificationName` is of this package's NotifyCenter.
public final class NotificationClient: Sendable {
    let core: ClientCore

    /// Makes a client, which does not connect until it is started.
    ///
    /// - Parameters:
    ///   - configuration: The settings.
    ///   - logger: Logs lost connections, gaps and other events; `nil` for no log.
    public init(configuration: Configuration = Configuration(), logger: Logger? = nil) {
        core = ClientCore(configuration: configuration, logger: logger)
    }

    init(core: ClientCore) {
        self.core = core
    }

    deinit {
        core.stop()
    }

    /// Leaves all subscriptions, waits for pending requests (at most ``Configuration/closingTimeout``), and closes the
    /// connection. Later requests fail with `stopped`.
    ///
    /// Completes even in a cancelled task.
    public nonisolated(nonsending) func stop() async {
        core.stop()
        // If the client ended with an error, `run` and the pending requests throw that error.
        try? await core.waitForEnd()
    }
}

/// Makes and starts a client, passes it to `body`, and stops it when `body` returns or throws.
///
/// `body` is called before there is a connection. Its requests wait for the connection.
///
/// - Parameters:
///   - configuration: The settings.
///   - logger: Logs lost connections, gaps and other events; `nil` for no log.
///   - isolation: The actor on which `body` runs, by default the caller's.
///   - body: Called with the client.
/// - Returns: The result of `body`.
/// - Throws: The error of `body`.
public func withNotificationClient<Result>(
    configuration: NotificationClient.Configuration = .init(), logger: Logger? = nil,
    isolation: isolated (any Actor)? = #isolation, _ body: (NotificationClient) async throws -> sending Result
) async throws -> sending Result {
    let client = NotificationClient(configuration: configuration, logger: logger)
    client.core.start()
    do {
        let result = try await body(client)
        await client.stop()
        return result
    } catch {
        await client.stop()
        throw error
    }
}

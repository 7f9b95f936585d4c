public import Logging

/// A connection to notifyd: posts messages, and gets those that others post.
///
/// ```swift
/// try await withNotifyClient { client in
///     try await client.post("orders.created", "42")
/// }
/// ```
///
/// A client keeps its connection by itself: it connects when it is started, connects again with growing waits when the
/// connection is lost, and takes its subscriptions up again. What that means for posts under way and for messages missed
/// is told, never passed over in silence: see ``NotifyError/Code/outcomeUnknown`` and ``Gap``.
///
/// Start it in one of two ways: for a while with ``withNotifyClient(configuration:logger:isolation:_:)``, or for as long
/// as a `ServiceGroup` runs by adding it there, which calls ``run()``. Everything may be called from any thread or task.
///
/// - Note: `Logger` of swift-log and `Service` of swift-service-lifecycle are the only types of other packages in this
///   interface. Both are there to be shared by libraries; a type of our own would only have to be adapted to them.
public final class NotifyClient: Sendable {
    let core: ClientCore

    /// Makes a client, which does nothing until it is started.
    ///
    /// - Parameters:
    ///   - configuration: What can be chosen.
    ///   - logger: Where remarks go, such as on connections lost and regained; `nil` for nowhere.
    public init(configuration: Configuration = Configuration(), logger: Logger? = nil) {
        core = ClientCore(configuration: configuration, logger: logger)
    }

    init(core: ClientCore) {
        self.core = core
    }

    deinit {
        core.stop()
    }

    /// Leaves all subscriptions, waits for what is under way (at most ``Configuration/closingTimeout``), and closes the
    /// connection. What is asked afterwards fails with `stopped`.
    ///
    /// Also works in a task that is cancelled.
    public nonisolated(nonsending) func stop() async {
        core.stop()
        // Why it ended, if it did so by itself, is thrown by `run` and told to everybody who waited.
        try? await core.waitForEnd()
    }
}

/// Makes a client, gives it to `body`, and stops it when `body` returns or throws.
///
/// `body` begins before there is a connection; what it asks for waits for one.
///
/// - Parameters:
///   - configuration: What can be chosen.
///   - logger: Where remarks go; `nil` for nowhere.
///   - isolation: The actor that `body` runs on, by default the caller's.
///   - body: What to do with the client.
/// - Returns: What `body` returns.
/// - Throws: What `body` throws.
public func withNotifyClient<Result>(
    configuration: NotifyClient.Configuration = .init(), logger: Logger? = nil,
    isolation: isolated (any Actor)? = #isolation, _ body: (NotifyClient) async throws -> sending Result
) async throws -> sending Result {
    let client = NotifyClient(configuration: configuration, logger: logger)
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

import Logging
import ServiceLifecycle

/// Runs a closure as a service.
struct ClosureService: Service {
    let body: @Sendable () async throws -> Void

    func run() async throws {
        try await body()
        // The service waits here, because its end before the shutdown would be a failure.
        try? await gracefulShutdown()
    }

    /// Runs `service` as a service. `test` gets a closure that begins the graceful shutdown of the service, and must
    /// call it.
    static func run(
        _ service: @escaping @Sendable () async throws -> Void,
        test: (_ shutDown: @escaping @Sendable () async -> Void) async throws -> Void
    ) async throws {
        let group = ServiceGroup(
            services: [ClosureService(body: service)],
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        async let running: Void = group.run()
        try await test { await group.triggerGracefulShutdown() }
        try await running
    }
}

import Glibc
import Logging
import ServiceLifecycle
import UnixSignals

/// A service that runs commands for messages. A graceful shutdown lets running commands finish.
protocol JobService: Service {
    /// The interruption that ends the service: no further command is started.
    var interruption: Interruption { get }
    /// The reason why a command could not be started; nil if all commands were started.
    var failedStart: String? { get }
    /// Whether the output of the commands is printed. If so, the service ends when the reader closes it.
    var printsOutput: Bool { get }
}

extension JobRunner {
    /// Runs a service until a signal, until standard output is closed by its reader or can't be written, or until a
    /// command can't be started. Then waits until the running commands have exited.
    ///
    /// - Parameter unconfirmed: The error if the daemon does not confirm the end of the service.
    /// - Throws: `CommandFailure` if a command can't be started (`notStarted`) or if the output can't be written;
    ///   `StandardOutput.Failure.readerClosed`; errors of the service.
    func run(_ service: some JobService, unconfirmed: @escaping @Sendable () -> CommandFailure) async throws {
        let signals = await Interruption.trapSignals(includingHangup: true)
        let interruption = service.interruption
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], logger: Logger(label: "notifyctl") { _ in SwiftLogNoOpLogHandler() }))
        let result: Result<Void, any Error> = await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var isFirst = true
                for await signal in signals {
                    if isFirst {
                        interruption.interrupt(.signal)
                        // The reader of the output may have stalled.
                        self.limitOutput()
                        self.reportRunningCommands()
                    } else {
                        self.passOn(signal.rawValue)
                    }
                    isFirst = false
                }
            }
            if service.printsOutput { group.addTask { await interruption.watchReader(of: STDOUT_FILENO) } }
            group.addTask {
                await interruption.endUnanswered(preparation: {
                    await services.triggerGracefulShutdown()
                    await self.waitUntilIdle()
                }) { _ in
                    unconfirmed()
                }
            }
            defer { group.cancelAll() }
            do {
                return .success(try await services.run())
            } catch {
                return .failure(error)
            }
        }
        // A failed start is reported first, because a later error may be its consequence.
        if let reason = service.failedStart { throw failure(notStarted: reason) }
        try result.get()
        if let outputFailure { throw outputFailure }
        try interruption.checkReader()
    }

    /// Reports the number of commands that end the wait after a signal.
    private func reportRunningCommands() {
        let count = runningCommands
        guard count > 0 else { return }
        let commands = count == 1 ? "the command that runs" : "\(count) commands that run"
        StandardError.write("waiting for \(commands): a second signal is passed on")
    }
}

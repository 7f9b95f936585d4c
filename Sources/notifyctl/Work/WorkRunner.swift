import Glibc
import Logging
import NotifyClient
import ServiceLifecycle
import Synchronization
import UnixSignals

/// Runs the `work` command.
struct WorkRunner: Sendable {
    let configuration: NotifyClient.Configuration
    let patterns: [String]
    let kind: NotifyClient.SubscriptionKind
    let object: String?
    let parallel: Int
    let runner: JobRunner

    /// Works until a signal, until the reader of standard output closes it, or until a command can't be started.
    /// Running commands then finish.
    ///
    /// - Throws: `CommandFailure` with `notStarted` if a command can't be started, and errors of the client.
    func run() async throws {
        let signals = await Interruption.trapSignals(includingHangup: true)
        let work = Work(self)
        // Its shutdown ends the work: no further command is started, and those that run finish.
        let services = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: [
                    .init(
                        service: work, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .cancelGroup)
                ], logger: Logger(label: "notifyctl") { _ in SwiftLogNoOpLogHandler() }))
        work.onEnd = { await services.triggerGracefulShutdown() }
        let interruption = Interruption()
        let result: Result<Void, any Error> = await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                var isFirst = true
                for await signal in signals {
                    if isFirst {
                        await services.triggerGracefulShutdown()
                        reportRunningCommands()
                    } else {
                        runner.passOn(signal.rawValue)
                    }
                    isFirst = false
                }
            }
            group.addTask {
                await interruption.watchReader(of: STDOUT_FILENO)
                if interruption.reason != nil { await services.triggerGracefulShutdown() }
            }
            defer { group.cancelAll() }
            do {
                return .success(try await services.run())
            } catch {
                return .failure(error)
            }
        }
        // More important than an error at the end of the work that follows from it.
        if let reason = work.failedStart {
            throw runner.failure(notStarted: reason)
        }
        try result.get()
    }

    /// Says what `work` waits for after a signal.
    private func reportRunningCommands() {
        let count = runner.runningCommands
        guard count > 0 else { return }
        let commands = count == 1 ? "the command that runs" : "\(count) commands that run"
        // Not waited for: the reader of standard error may have stalled.
        Task { StandardError.write("waiting for \(commands): a second signal is passed on") }
    }
}

/// The work as a service, so that a shutdown lets running commands finish.
private final class Work: Service {
    private let work: WorkRunner
    private let state = Mutex(State())

    private struct State {
        var failedStart: String?
        var isReaderGone = false
        var onEnd: (@Sendable () async -> Void)?
    }

    init(_ work: WorkRunner) {
        self.work = work
    }

    /// Why a command could not be started; nil if all were.
    var failedStart: String? { state.withLock { $0.failedStart } }

    /// Called when no further command is to be started.
    var onEnd: (@Sendable () async -> Void)? {
        get { state.withLock { $0.onEnd } }
        set { state.withLock { $0.onEnd = newValue } }
    }

    func run() async throws {
        var configuration = work.configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotifyClient(configuration: configuration) { client in
            try await withTaskExecutorPreference(work.runner.executor) {
                try await client.work(
                    on: work.patterns, as: work.kind, object: work.object, parallel: work.parallel
                ) { message in
                    try await self.process(message)
                }
            }
        }
    }

    private func process(_ message: NotifyClient.Message) async throws {
        // After a failed start, and without a reader of the output, no further command is started.
        if state.withLock({ $0.failedStart != nil || $0.isReaderGone }) {
            throw NotifyClient.JobError.giveBack(after: .zero)
        }
        switch await work.runner.run(message) {
        case .done: return
        case .givenBack: throw NotifyClient.JobError.giveBack()
        case .rejected where Interruption.isReaderGone(from: STDOUT_FILENO):
            // Probably the command has failed because its output can't be written, as that of every other one would.
            state.withLock { $0.isReaderGone = true }
            await onEnd?()
            throw NotifyClient.JobError.giveBack(after: .zero)
        case .rejected(let reason):
            await Self.report("\(JobOutcome.report(reason, of: message)) (delivery \(message.delivery))")
            throw NotifyClient.JobError.retry(reason)
        case .failed(let reason):
            await Self.report("\(JobOutcome.report(reason, of: message)): it becomes a dead letter")
            throw NotifyClient.JobError.fail(reason)
        case .notStarted(let reason):
            state.withLock { $0.failedStart = $0.failedStart ?? reason }
            await onEnd?()
            throw NotifyClient.JobError.giveBack(after: .zero)
        }
    }

    /// Prints a failure. The reader of standard error may have stalled, which must not stop the commands of others.
    private static func report(_ text: String) async {
        await withTaskExecutorPreference(globalConcurrentExecutor) { StandardError.write(text) }
    }
}

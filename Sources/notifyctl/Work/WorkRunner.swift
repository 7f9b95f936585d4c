import Glibc
import NotifyClient
import ServiceLifecycle
import Synchronization

/// Runs the `work` command.
struct WorkRunner: Sendable {
    let configuration: NotificationClient.Configuration
    let patterns: [String]
    let kind: NotificationClient.SubscriptionKind
    let object: String?
    let parallel: Int
    let runner: JobRunner

    /// Works until a signal, until standard output is closed by its reader or can't be written, or until a command
    /// can't be started. Then waits until the running commands have exited.
    ///
    /// - Throws: `CommandFailure` if a command can't be started (`notStarted`) or if the output can't be written;
    ///   `StandardOutput.Failure.readerClosed`; errors of the client.
    func run() async throws {
        let work = Work(self)
        try await runner.run(work) { unconfirmedEnd(of: work) }
    }

    /// The error of `work` if the daemon has not confirmed the end of the subscription.
    private func unconfirmedEnd(of work: Work) -> CommandFailure {
        if let reason = work.failedStart { return runner.failure(notStarted: reason) }
        guard work.isSubscribed else { return CommandFailure(.failure, "notifyd has not confirmed the subscription") }
        let detail = work.hasStarted ? ": the last jobs may run again" : ""
        return CommandFailure(
            .failure, "notifyd does not answer, so the end of the work is not confirmed\(detail)")
    }
}

/// The work as a service. A graceful shutdown lets running commands finish.
final class Work: JobService {
    private let work: WorkRunner
    private let state = Mutex(State())

    /// The interruption that ends the work: no further command is started.
    let interruption = Interruption()
    let printsOutput = true

    private struct State {
        var isSubscribed = false
        var hasStarted = false
        var failedStart: String?
    }

    init(_ work: WorkRunner) {
        self.work = work
    }

    /// Whether the daemon has confirmed the subscription.
    var isSubscribed: Bool { state.withLock(\.isSubscribed) }

    /// Whether a job was started.
    var hasStarted: Bool { state.withLock(\.hasStarted) }

    /// The reason why a command could not be started; nil if all commands were started.
    var failedStart: String? { state.withLock { $0.failedStart } }

    func run() async throws {
        var configuration = work.configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotificationClient(configuration: configuration) { client in
            try await client.work(
                on: work.patterns, as: work.kind, object: work.object, parallel: work.parallel,
                onGap: { gap in Task { await Self.report("\(gap)") } },
                onSubscription: {
                    // After an interruption, this call may come from the shutdown, without a confirmation.
                    if interruption.reason == nil { self.state.withLock { $0.isSubscribed = true } }
                }
            ) { message in
                try await self.process(message)
            }
        }
    }

    /// Runs the command for a message, and answers the message by returning or throwing.
    func process(_ message: NotificationClient.Message) async throws {
        let outcome = await work.runner.run(message, ifAllowed: mayStart).settled(by: interruption)
        if work.runner.outputFailure != nil { interruption.interrupt(.failure) }
        switch outcome {
        case .done: return
        case .givenBack: throw NotificationClient.JobError.giveBack()
        case .stopped: try await giveBackAtShutdown()
        case .failed where Interruption.isReaderGone(from: STDOUT_FILENO):
            // The command has probably failed because its output can't be written. Other commands would fail, too.
            interruption.interrupt(.readerClosed)
            try await giveBackAtShutdown()
        case .failed(let reason):
            await Self.report("\(JobOutcome.report(reason, of: message)) (delivery \(message.delivery))")
            throw NotificationClient.JobError.retry(reason)
        case .deadLetter(let reason):
            await Self.report("\(JobOutcome.report(reason, of: message)): it becomes a dead letter")
            throw NotificationClient.JobError.deadLetter(reason)
        case .notStarted(let reason):
            state.withLock { $0.failedStart = $0.failedStart ?? reason }
            interruption.interrupt(.failure)
            try await giveBackAtShutdown()
        }
    }

    /// Whether another command may be started: not after an interruption, and not if the output can't be written.
    private func mayStart() -> Bool {
        if work.runner.outputFailure != nil { interruption.interrupt(.failure) }
        guard interruption.reason == nil else { return false }
        state.withLock { $0.hasStarted = true }
        return true
    }

    /// Gives a message back once the shutdown has begun, which follows each interruption. Earlier, the daemon could
    /// deliver the message to this worker again.
    private func giveBackAtShutdown() async throws -> Never {
        try? await gracefulShutdown()
        throw NotificationClient.JobError.giveBack(after: .zero)
    }

    /// Prints a failure on a thread that may block: if the reader of standard error has stalled, other commands
    /// continue.
    private static func report(_ text: String) async {
        await withTaskExecutorPreference(Blocking.executor) { StandardError.write(text) }
    }
}

import Glibc
import NotifyClient
import Synchronization

/// Runs the `subscribe` command.
struct SubscribeRunner: Sendable {
    /// How long a command whose timeout has passed still waits for the daemon to confirm a durable subscription. Shorter
    /// than the time after which the client reports that there is no connection.
    private static let openingTimeout = Duration.seconds(3)

    let configuration: NotifyClient.Configuration
    let patterns: [String]
    let durable: String?
    /// Nil for the default, `now`.
    let start: NotifyClient.Start?
    let object: String?
    let limit: Int?
    let timeoutSeconds: Double?
    let format: MessageFormat

    /// Prints messages until the subscription ends or the command is interrupted.
    ///
    /// - Throws: `CommandFailure` with `timeout` after the timeout, and errors of the client.
    func run() async throws {
        let startTime = ContinuousClock.now
        let signals = await Interruption.trapSignals()
        let interruption = Interruption()
        let opening = OpeningEvent()
        let reason = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            if let timeoutSeconds {
                group.addTask {
                    await interruption.watchTime(until: startTime + .seconds(timeoutSeconds)) {
                        // Waits, so that the command can report whether the durable subscription was created.
                        if durable != nil { await opening.wait(atMost: Self.openingTimeout) }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await show(until: interruption, opening)
        }
        guard reason == .timeout, let timeoutSeconds else { return }
        let detail = durable == nil || opening.isFinished ? "" : "; notifyd has not confirmed the subscription"
        throw CommandFailure(.timeout, "\(Self.timeoutMessage(seconds: timeoutSeconds))\(detail)")
    }

    /// The error for a timeout. Whole seconds have no decimals.
    static func timeoutMessage(seconds: Double) -> String {
        "timed out after \(Int(exactly: seconds).map(String.init) ?? "\(seconds)") s"
    }

    /// Whether the command only creates the durable subscription, because its timeout is 0.
    private var isCreationOnly: Bool { durable != nil && timeoutSeconds == 0 }

    private func show(until interruption: Interruption, _ opening: OpeningEvent) async throws -> Interruption.Reason? {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await print(until: interruption, opening) }
                group.addTask { _ = await interruption.wait() }
                // Once one of the tasks ends, the subscription has ended or must be ended.
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch is StandardOutput.Failure {
            // The write was interrupted, or it detected a closed output before `watchReader` did.
        } catch  where interruption.reason != nil && Self.isCancellation(error) {
        }
        return interruption.reason ?? (isCreationOnly ? .timeout : nil)
    }

    private static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? NotifyError)?.code == .cancelled
    }

    private func print(until interruption: Interruption, _ opening: OpeningEvent) async throws {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotifyClient(configuration: configuration) { client in
            let subscription = try await client.subscribe(
                to: patterns, as: kind, object: object, limit: isCreationOnly ? 0 : limit)
            opening.finish()
            if let notice = Self.notice(durable, start, resumedAfter: subscription.resumedAfter) {
                StandardError.write(notice)
            }
            do {
                try await MessagePrinter(format: format).print(subscription.batches, until: interruption)
            } catch {
                // Sends the acknowledgements of printed messages before another client can attach.
                try await subscription.leave()
                throw error
            }
            try await subscription.leave()
        }
    }

    private var kind: NotifyClient.SubscriptionKind {
        let start = start ?? .now
        return durable.map { .durable($0, from: start) } ?? .volatile(from: start, whenFull: .pauseReading)
    }

    /// Reports that `--from` has no effect on a durable subscription that exists; nil if it has, or was not given.
    static func notice(_ durable: String?, _ start: NotifyClient.Start?, resumedAfter sequence: UInt64?) -> String? {
        guard let durable, start != nil, let sequence else { return nil }
        return "'\(durable)' exists and resumes after sequence \(sequence), not at --from; to move it, use "
            + "'notifyctl durable reset'"
    }
}

/// The confirmation of the subscription by the daemon, as an event to wait for.
private final class OpeningEvent: Sendable {
    private let stream: AsyncStream<Never>
    private let continuation: AsyncStream<Never>.Continuation
    private let finished = Atomic(false)

    init() {
        (stream, continuation) = AsyncStream.makeStream()
    }

    var isFinished: Bool { finished.load(ordering: .acquiring) }

    func finish() {
        finished.store(true, ordering: .releasing)
        continuation.finish()
    }

    /// Waits at most `time` for the event. Returns early if the task is cancelled.
    func wait(atMost time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [stream] in for await _ in stream {} }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}

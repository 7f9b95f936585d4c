import Glibc
import NotifyClient
import Synchronization

/// Carries out `subscribe`: prints messages until the subscription ends or an interruption comes.
struct SubscribeRunner: Sendable {
    /// How long a command waits after its timeout for the daemon to confirm a durable subscription.
    private static let openingTimeout = Duration.seconds(5)

    let configuration: NotifyClient.Configuration
    let patterns: [String]
    let durable: String?
    let start: NotifyClient.Start
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
                        // Do not leave it unknown whether the daemon has created the durable subscription.
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

    /// Whether the timeout of 0 only leaves the durable subscription to be created.
    private var isCreationOnly: Bool { durable != nil && timeoutSeconds == 0 }

    private func show(until interruption: Interruption, _ opening: OpeningEvent) async throws -> Interruption.Reason? {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await print(until: interruption, opening) }
                group.addTask { _ = await interruption.wait() }
                // The first task to end means that the subscription has ended or is to be ended.
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch is StandardOutput.Failure {
            // A write may find that the reader has closed the pipe before `watchReader` does.
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
            do {
                try await MessagePrinter(format: format).print(subscription, until: interruption)
            } catch {
                // The daemon must have the acknowledgements of printed messages before another client attaches.
                try await subscription.leave()
                throw error
            }
            try await subscription.leave()
        }
    }

    private var kind: NotifyClient.SubscriptionKind {
        durable.map { .durable($0, from: start) } ?? .volatile(whenFull: .pauseReading)
    }
}

/// The event that the daemon has confirmed the subscription.
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

    /// Waits for the event, at most for `time`. Returns early in a cancelled task.
    func wait(atMost time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [stream] in for await _ in stream {} }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}

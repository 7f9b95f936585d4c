import Glibc
import NotifyClient
import Synchronization

/// Carries out `subscribe`: prints messages until the subscription ends or an interruption comes.
struct SubscribeRunner: Sendable {
    /// How much longer than its time a command waits for the daemon to confirm a durable subscription.
    private static let openingTime = Duration.seconds(5)

    let configuration: NotifyClient.Configuration
    let patterns: [String]
    let durable: String?
    let start: NotifyClient.Start
    let object: String?
    let limit: Int?
    let timeoutSeconds: Double?
    let format: MessageFormat

    /// Prints until the end.
    ///
    /// - Throws: `CommandFailure` with `timeout` at the end of the time, and what the client throws.
    func run() async throws {
        let begin = ContinuousClock.now
        let signals = await Interruption.trapSignals()
        let interruption = Interruption()
        let opening = Opening()
        let reason = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            if let timeoutSeconds {
                group.addTask {
                    await interruption.watchTime(until: begin + .seconds(timeoutSeconds)) {
                        // The daemon keeps a durable subscription: it is not left half created.
                        if durable != nil { await opening.wait(atMost: Self.openingTime) }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await show(until: interruption, opening)
        }
        guard reason == .timeout, let timeoutSeconds else { return }
        let remark = durable == nil || opening.isFinished ? "" : "; notifyd has not confirmed the subscription"
        throw CommandFailure(.timeout, "\(Self.timeoutMessage(seconds: timeoutSeconds))\(remark)")
    }

    /// Whole seconds are shown without decimals.
    static func timeoutMessage(seconds: Double) -> String {
        "timed out after \(Int(exactly: seconds).map(String.init) ?? "\(seconds)") s"
    }

    /// Whether there is only time to create the subscription.
    private var isCreationOnly: Bool { durable != nil && timeoutSeconds == 0 }

    private func show(until interruption: Interruption, _ opening: Opening) async throws -> Interruption.Reason? {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await print(until: interruption, opening) }
                group.addTask { _ = await interruption.wait() }
                // Either the subscription has ended, or it is to end.
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch is StandardOutput.Failure {
            // The reader may be found gone by a write before it is by the watch.
        } catch  where interruption.reason != nil && Self.isCancellation(error) {
        }
        return interruption.reason ?? (isCreationOnly ? .timeout : nil)
    }

    private static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? NotifyError)?.code == .cancelled
    }

    private func print(until interruption: Interruption, _ opening: Opening) async throws {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionRemarks().handler
        try await withNotifyClient(configuration: configuration) { client in
            let subscription = try await client.subscribe(
                to: patterns, as: kind, object: object, limit: isCreationOnly ? 0 : limit)
            opening.finish()
            do {
                try await MessagePrinter(format: format).print(subscription, until: interruption)
            } catch {
                // The daemon must know what was printed before another client attaches.
                try await subscription.leave()
                throw error
            }
            try await subscription.leave()
        }
    }

    private var kind: NotifyClient.SubscriptionKind {
        durable.map { .durable($0, from: start) } ?? .volatile(whenFull: .holdBack)
    }
}

/// The moment at which the daemon has confirmed a subscription.
private final class Opening: Sendable {
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

    /// Returns when it has come, when the time is over, or in a task that is cancelled.
    func wait(atMost time: Duration) async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { [stream] in for await _ in stream {} }
            group.addTask { try? await Task.sleep(for: time) }
            await group.next()
            group.cancelAll()
        }
    }
}

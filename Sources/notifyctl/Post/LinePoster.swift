import Glibc
import NotifyClient
import Synchronization

/// Posts one message for each line, pipelined, and prints the receipts in the order of the lines.
struct LinePoster: Sendable {
    /// The maximum number of lines that are passed to the client at once. Between slices, the posting may stop.
    private static let sliceLines = 256
    /// The maximum number of lines without an outcome. The pipeline has room for them and for one slice.
    private static let windowLines = 16_384
    private static let firstPause = Duration.milliseconds(100)
    private static let longestPause = Duration.seconds(1)
    /// The minimum time that a line waits for a connection, even if `retryTime` is shorter.
    private static let shortestConnectionWait = Duration.milliseconds(100)
    /// The minimum time for the receipt of a line, even if `retryTime` is shorter. After this time the outcome of the
    /// line is unknown, and the command ends.
    private static let shortestAnswerWait = Duration.seconds(1)

    let template: NotificationClient.OutgoingMessage
    let printer: ReceiptPrinter
    /// The time in which lines that are known not to be posted are sent again; nil to stop at the first error.
    let retryTime: Duration?
    private let clock: any Clock<Duration>
    /// The time since this value was made.
    private let elapsed: @Sendable () -> Duration
    private let source: LineSource
    private let progress = ProgressBar()
    private let interruption = Interruption()
    private let connection = ConnectionReporter()
    private let state = State()

    private final class State: Sendable {
        let ledger = Mutex(LineLedger())
        /// The reason why the input can't be read, or the output can't be written.
        let failure = Mutex<(any Error)?>(nil)

        func fail(_ error: any Error) {
            failure.withLock { $0 = $0 ?? error }
        }
    }

    init(
        template: NotificationClient.OutgoingMessage, input: Int32, printer: ReceiptPrinter, retryTime: Duration?,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.template = template
        self.printer = printer
        self.retryTime = retryTime
        self.clock = clock
        elapsed = clock.stopwatch()
        source = LineSource(input)
    }

    /// Posts until the end of the input, an interruption, or the first error that affects more than a single line.
    ///
    /// - Throws: `CommandFailure` that counts the lines, unless all were posted; `StandardOutput.Failure.readerClosed`.
    func run(_ configuration: NotificationClient.Configuration) async throws {
        // A lost connection is reported even while no lines arrive: input from `tail -f`, for example, may outlive the
        // daemon.
        var configuration = configuration
        configuration.onConnectionChange = connection.handler
        configuration.requiresFirstConnection = retryTime == nil
        // An interruption stops the client, which then waits this long for receipts.
        configuration.closingTimeout = AnswerTimeout.current
        if let retryTime {
            configuration.connectionWait = min(
                configuration.connectionWait, max(retryTime, Self.shortestConnectionWait))
            configuration.requestTimeout = min(configuration.requestTimeout, max(retryTime, Self.shortestAnswerWait))
        }
        let start = elapsed()
        // SIGHUP is trapped, so that the number of posted lines is reported even if the terminal was closed.
        let signals = await Interruption.trapSignals(includingHangup: true)
        let printsNothing = printer.format == .nothing
        // On a terminal, printed receipts show the progress already.
        let isShown = printsNothing || isatty(STDOUT_FILENO) == 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            if !printsNothing { group.addTask { await interruption.watchReader(of: STDOUT_FILENO) } }
            if isShown { group.addTask { await progress.keepShowing { progressLine(after: elapsed() - start) } } }
            defer { group.cancelAll() }
            try await postUntilInterrupted(configuration)
        }
        progress.clear()
        try report(after: elapsed() - start)
    }

    private func postUntilInterrupted(_ configuration: NotificationClient.Configuration) async throws {
        do {
            try await withNotificationClient(configuration: configuration) { client in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    defer { group.cancelAll() }
                    group.addTask { await stop(client) }
                    try await postAll(client, connectionWait: configuration.connectionWait)
                }
            }
        } catch  where error is NotifyError && state.ledger.withLock({ $0.failure != nil }) {
            // The error of the client is the error of the line, which is reported later.
        }
        state.ledger.withLock { $0.abandon(wasConnected: connection.wasConnected) }
    }

    /// Waits for an interruption, and stops the client. The stop soon gives every submitted line an outcome, even if
    /// the daemon does not answer. Lines that were not sent are not posted. The outcome of sent lines without a receipt
    /// is unknown.
    private func stop(_ client: NotificationClient) async {
        guard await interruption.wait() != nil else { return }
        source.stop()
        state.ledger.withLock { $0.interrupted() }
        await client.stop()
    }

    // MARK: Posting

    /// Posts the input. As long as `retryTime` permits, lines that were not posted are sent again.
    ///
    /// - Parameter connectionWait: The time that a line waits for a connection before it fails.
    private func postAll(_ client: NotificationClient, connectionWait: Duration) async throws {
        var end: Duration?
        var pause = Self.firstPause
        var isRetry = false
        while true {
            let before = state.ledger.withLock { $0.posted }
            try await attempt(client, isRetry: isRetry)
            isRetry = true
            let (failure, posted) = state.ledger.withLock { ($0.isRetryable ? $0.failure : nil, $0.posted) }
            guard let failure, let retryTime, state.failure.withLock({ $0 == nil }), interruption.reason == nil else {
                return
            }
            let now = elapsed()
            if end == nil || posted > before {
                // The time in which the line has waited for a connection counts.
                let left = retryTime - (failure.error.code == .notConnected ? connectionWait : .zero)
                if end == nil, left > .zero {
                    StandardError.write(
                        "line \(failure.line): \(failure.error.message); retrying for \(SpanArgument.text(left))")
                }
                (end, pause) = (now + left, Self.firstPause)
            }
            guard let end, now < end else { return }
            _ = await interruption.wait(atMost: min(pause, end - now), clock: clock)
            try Task.checkCancellation()
            pause = min(pause * 2, Self.longestPause)
            guard try await waitForConnection(until: end), interruption.reason == nil else { return }
            source.resume(with: state.ledger.withLock { $0.takeRefused() })
            // An interruption before the source was resumed had no effect on it.
            if interruption.reason != nil { source.stop() }
        }
    }

    /// Waits while the client has no connection. Without this wait, lines that are sent again could wait for a
    /// connection beyond `end`.
    ///
    /// - Returns: False if there is no connection at the time `end`, or after an interruption.
    private func waitForConnection(until end: Duration) async throws -> Bool {
        while !connection.isConnected {
            let left = end - elapsed()
            guard left > .zero, interruption.reason == nil else { return false }
            try await clock.sleep(for: min(left, Self.firstPause))
        }
        return true
    }

    /// Posts lines until the end of the input or a failure, and waits for all their outcomes.
    ///
    /// - Parameter isRetry: Whether the first line is one that failed before. The line is sent alone: if storage
    ///   recovers meanwhile, no later line is posted before it.
    private func attempt(_ client: NotificationClient, isRetry: Bool) async throws {
        let pipeline = client.postPipeline(capacity: Self.windowLines + Self.sliceLines)
        let window = LineWindow(limit: Self.windowLines, limitUntilOutcome: isRetry ? 1 : nil)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await post(to: pipeline, through: window, first: isRetry ? 1 : Self.sliceLines) }
            group.addTask { try await printOutcomes(of: pipeline, window) }
            try await group.waitForAll()
        }
    }

    /// - Parameter count: The number of lines that are passed to the client first.
    private func post(
        to pipeline: NotificationClient.PostPipeline, through window: LineWindow, first count: Int
    ) async throws {
        defer { pipeline.finish() }
        var count = count
        do {
            while await window.wait(), case let lines = try await source.next(count), !lines.isEmpty {
                count = Self.sliceLines
                state.ledger.withLock { $0.submitted(lines) }
                window.posted(lines.count)
                try await pipeline.post(contentsOf: lines.lazy.map { template.with(payload: $0.payload) })
            }
        } catch let failure as CommandFailure {
            state.fail(failure)
        }
    }

    /// Prints the receipts. Continues to receive outcomes after a failure, so that all outcomes are counted.
    private func printOutcomes(of pipeline: NotificationClient.PostPipeline, _ window: LineWindow) async throws {
        var output = StandardOutput()
        for try await outcomes in pipeline.batches {
            for outcome in outcomes {
                let (report, isFailing) = state.ledger.withLock { ($0.received(outcome), $0.failure != nil) }
                // The posting stops before the flush, which may wait for the reader of the output.
                if isFailing {
                    source.stop()
                    window.close()
                }
                if case .success(let receipt) = outcome { output.gather { printer.append(receipt, to: &$0) } }
                guard let report else { continue }
                try await flush(&output)
                StandardError.write(report)
            }
            window.received(outcomes.count)
            try await flush(&output)
        }
    }

    private func flush(_ output: inout StandardOutput) async throws {
        guard state.failure.withLock({ $0 == nil }) else { return output.discard() }
        do {
            try await output.flush(until: interruption)
        } catch StandardOutput.Failure.interrupted {
            output.discard()
        } catch {
            state.fail(error)
            source.stop()
            output.discard()
        }
    }

    // MARK: Reports

    private func progressLine(after elapsed: Duration) -> String {
        let posted = state.ledger.withLock { $0.posted }
        let lines = "\(posted) lines, \(Quantities.rate(from: 0, to: UInt64(posted), in: elapsed))/s"
        guard let total = source.totalBytes, let share = ProgressBar.line(source.readBytes, of: total, width: 20) else {
            return lines
        }
        return "\(share)  \(lines)"
    }

    private func report(after elapsed: Duration) throws {
        let ledger = state.ledger.withLock { ledger in
            ledger.notSentAgain(source.takeReturned())
            return ledger
        }
        let summary = ledger.summary(next: source.nextLine)
        if let failure = ledger.failure {
            let message = failure.error.message + Notifyctl.advice(for: failure.error)
            throw CommandFailure(ledger.status, "stopped at line \(failure.line): \(message); \(summary)")
        }
        if let failure = state.failure.withLock({ $0 }) {
            StandardError.write("stopped: \(summary)")
            throw failure
        }
        switch interruption.reason {
        case .readerClosed?:
            StandardError.write("stopped: \(summary)")
            throw StandardOutput.Failure.readerClosed
        case .signal?, .timeout?, .failure?: throw CommandFailure(.failure, "interrupted: \(summary)")
        case nil: break
        }
        if ledger.status != .success { throw CommandFailure(ledger.status, summary) }
        guard printer.format != .nothing else { return }
        let rate = Quantities.rate(from: 0, to: UInt64(ledger.posted), in: elapsed)
        StandardError.write("\(summary) in \(BenchFormat.time(UInt64(elapsed / .nanoseconds(1)))), \(rate)/s")
    }
}

extension Clock where Duration == Swift.Duration {
    /// Returns a function that returns the time since this call.
    fileprivate func stopwatch() -> @Sendable () -> Duration {
        let start = now
        return { start.duration(to: self.now) }
    }
}

import Glibc
import NotifyClient

/// Runs the `subscribe` and the `wait` command.
struct SubscribeRunner: Sendable {
    /// The time after the start of the command in which the daemon may confirm a subscription, even if the timeout is
    /// shorter: even with a timeout of 0, the command prints pending messages. The client waits longer for a connection,
    /// so the command ends with the timeout and not with the client's error.
    static func openingTimeout(_ timeout: Duration) -> Duration { max(timeout, AnswerTimeout.current) }

    /// The time in which `wait` still waits for a pending or stored message after the daemon has read the log, even if
    /// the timeout has passed.
    private static let pendingTimeout = Duration.seconds(1)

    /// The time that a command still waits for the daemon to confirm the end of the subscription after its timeout.
    private static let leavingTimeout = Duration.seconds(1)

    let configuration: NotificationClient.Configuration
    let patterns: [String]
    let durable: String?
    let sharing: NotificationClient.DurableSharing
    let takesOver: Bool
    /// The start; nil for the default, `now`.
    let start: NotificationClient.Start?
    let object: String?
    let limit: Int?
    let timeout: Duration?
    let format: MessageFormat
    /// Runs a command for each message; nil to print the messages.
    let program: JobRunner?
    /// For `wait`, the arrival of its message, which ends the timeout; nil for `subscribe`.
    let arrival: Arrival?

    init(
        _ options: ReceivingOptions, patterns: [String], configuration: NotificationClient.Configuration, limit: Int?,
        timeout: Duration?, format: MessageFormat, program: JobRunner?, arrival: Arrival? = nil
    ) {
        self.configuration = configuration
        self.patterns = patterns
        durable = options.durable
        sharing = options.subscription.sharing
        takesOver = options.subscription.takeover
        start = options.subscription.from
        object = options.subscription.object
        self.limit = limit
        self.timeout = timeout
        self.format = format
        self.program = program
        self.arrival = arrival
    }

    /// Prints messages until the subscription ends or the command is interrupted.
    ///
    /// - Throws: `CommandFailure` with `timeout` after the timeout; with `failure` if a signal ends `wait` before
    ///   it has processed a message, or `subscribe --count` before its messages arrived, or if the output was closed;
    ///   and errors of the client.
    func run() async throws {
        let startTime = ContinuousClock.now
        let signals = await Interruption.trapSignals(includingHangup: program != nil)
        let interruption = Interruption()
        let (opening, reading) = (AnswerEvent(), AnswerEvent())
        let reason = try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await interruption.watchSignals(signals) }
            group.addTask { await interruption.watchReader(of: STDOUT_FILENO) }
            if let timeout {
                group.addTask {
                    await interruption.watchTime(for: startTime + timeout - .now) {
                        // Waits, so that the command can report whether the daemon has accepted the subscription.
                        await opening.wait(atMost: startTime + Self.openingTimeout(timeout) - .now)
                        guard let arrival else { return true }
                        if let confirmed = opening.time, mayHaveStored {
                            // A pending or stored message arrives soon after the daemon has read the log.
                            await reading.wait(atMost: confirmed + AnswerTimeout.current - .now)
                            if let read = reading.time {
                                await arrival.wait(atMost: Self.pendingWait(since: read, now: .now))
                            }
                        }
                        return arrival.timeOut()
                    }
                }
            }
            group.addTask {
                await interruption.endUnanswered { reason in
                    guard reason == .timeout else {
                        return durable == nil ? Interruption.closingLimit : AnswerTimeout.current
                    }
                    // Without a subscription, the daemon has nothing to confirm.
                    return opening.isFinished ? Self.leavingTimeout : .zero
                } preparation: {
                    // The reader of the program's output may have stalled.
                    program?.abandonOutput()
                    await program?.waitUntilIdle()
                } _: { reason in
                    unconfirmedEnd(failure(interruption, reason, opening), opening)
                }
            }
            defer { group.cancelAll() }
            return try await show(until: interruption, opening, reading)
        }
        if let reason, let failure = failure(interruption, reason, opening) { throw failure }
    }

    /// The error of a command that was interrupted; nil for success.
    private func failure(
        _ interruption: Interruption, _ reason: Interruption.Reason, _ opening: AnswerEvent
    ) -> CommandFailure? {
        switch reason {
        case .timeout:
            let detail = opening.isFinished ? "" : "; notifyd has not confirmed the subscription"
            return CommandFailure(.timeout, "\(Self.timeoutMessage(timeout ?? .zero))\(detail)")
        case .readerClosed: return .readerClosed
        case .signal, .failure: break
        }
        guard let arrival else {
            guard let limit, !interruption.isOutputComplete else { return nil }
            let messages = limit == 1 ? "the message" : "all \(limit) messages"
            return CommandFailure(.failure, "ended by a signal before \(messages) arrived")
        }
        if arrival.timeOut() { return CommandFailure(.failure, "ended by a signal before a message arrived") }
        let end = program == nil ? "the message was written" : "its command succeeded"
        return arrival.isProcessed ? nil : CommandFailure(.failure, "ended by a signal before \(end)")
    }

    /// The error of a command whose last requests the daemon has not confirmed.
    ///
    /// - Parameter failure: The error of the command with all requests confirmed; nil for success.
    private func unconfirmedEnd(_ failure: CommandFailure?, _ opening: AnswerEvent) -> CommandFailure {
        guard durable != nil else { return failure ?? CommandFailure(.success) }
        guard opening.isFinished else {
            return failure ?? CommandFailure(.failure, "notifyd has not confirmed the subscription")
        }
        // A command has acknowledged nothing if it failed before it had processed its message, or if it only creates
        // the subscription.
        if let failure, arrival != nil || isCreationOnly { return failure }
        let detail =
            "notifyd does not answer, so acknowledgements are not confirmed: the last messages may be delivered again"
        let message = [failure?.message, detail].compactMap(\.self).joined(separator: "; ")
        return CommandFailure(failure?.status ?? .failure, message)
    }

    /// A hint for a user who may lose messages. Writing a message to a pipe acknowledges it, even if the program at the
    /// other end does not process it.
    ///
    /// - Parameters:
    ///   - output: Standard output.
    ///   - errors: Standard error. Without a terminal there is no user to advise.
    static func pipeHint(output: Int32 = STDOUT_FILENO, errors: Int32 = STDERR_FILENO) -> String? {
        var status = stat()
        guard fstat(output, &status) == 0, status.st_mode & S_IFMT == S_IFIFO, isatty(errors) == 1 else { return nil }
        return "each message is acknowledged once it is written to the pipe; to acknowledge it after it was processed, "
            + "use 'notifyctl work'"
    }

    /// The time to wait for a pending message after the timeout.
    static func pendingWait(
        since reading: ContinuousClock.Instant, now: ContinuousClock.Instant
    ) -> Duration {
        max(.zero, pendingTimeout - (now - reading))
    }

    /// The error for a timeout.
    static func timeoutMessage(_ timeout: Duration) -> String { "timed out after \(JobOutcome.text(timeout))" }

    /// Whether the command only creates the durable subscription: its timeout is 0, and it takes over no attachment.
    private var isCreationOnly: Bool { durable != nil && timeout == .zero && arrival == nil && !takesOver }

    private func show(
        until interruption: Interruption, _ opening: AnswerEvent, _ reading: AnswerEvent
    ) async throws -> Interruption.Reason? {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await print(until: interruption, opening, reading) }
                group.addTask { _ = await interruption.wait() }
                // When one of the tasks ends, the subscription has ended, or must be ended.
                try await group.next()
                group.cancelAll()
                try await group.waitForAll()
            }
        } catch is StandardOutput.Failure {
            // The write was interrupted, or it detected a closed output before `watchReader` did.
            interruption.interrupt(.readerClosed)
        } catch  where interruption.reason != nil && Self.isCancellation(error) {
        }
        return interruption.reason ?? (isCreationOnly ? .timeout : nil)
    }

    private static func isCancellation(_ error: any Error) -> Bool {
        error is CancellationError || (error as? NotifyError)?.code == .cancelled
    }

    private func print(
        until interruption: Interruption, _ opening: AnswerEvent, _ reading: AnswerEvent
    ) async throws {
        var configuration = configuration
        configuration.onConnectionChange = ConnectionReporter().handler
        try await withNotificationClient(configuration: configuration) { client in
            if let durable, isCreationOnly {
                try await create(durable, client)
                return opening.finish()
            }
            let subscription = try await client.subscribe(to: patterns, as: kind, object: object, limit: limit)
            opening.finish()
            async let _ = readLog(client, after: subscription.resumedAfter, reading)
            if let notice = ExistingSubscription.startNotice(durable, start, resumedAfter: subscription.resumedAfter) {
                StandardError.write(notice)
            }
            if durable != nil, program == nil, arrival == nil, let hint = Self.pipeHint() { StandardError.write(hint) }
            do {
                if let program {
                    let interval = try await extensionInterval(client)
                    try await run(program, for: subscription, extendingEvery: interval, until: interruption)
                } else if let arrival {
                    let batches = try subscription.batches.prefix { $0.isEmpty || arrival.take() }
                    if try await MessagePrinter(format: format).print(batches, until: interruption) {
                        arrival.process()
                    }
                } else {
                    try await MessagePrinter(format: format).print(subscription.batches, until: interruption)
                }
                if !Task.isCancelled { interruption.completeOutput() }
            } catch {
                // Sends the acknowledgements of printed messages before another client can attach.
                try await subscription.leave()
                throw error
            }
            try await subscription.leave()
        }
    }

    /// Whether a message may be pending or stored when `wait` begins.
    private var mayHaveStored: Bool { durable != nil || start != nil }

    /// Reads the log where the subscription begins, if the timeout of `wait` is so short that it could pass before the
    /// daemon has read the subscription's messages. The daemon reads pages of the log in turns, so the answer shows that
    /// it has read these messages, too.
    ///
    /// - Parameters:
    ///   - cursor: The cursor of an existing durable subscription.
    ///   - reading: Finished by the answer, or by an error.
    private func readLog(
        _ client: NotificationClient, after cursor: UInt64?, _ reading: AnswerEvent
    ) async {
        if arrival != nil, mayHaveStored, let timeout, timeout < AnswerTimeout.current {
            let start = cursor.map { .sequence($0 + 1) } ?? start ?? .now
            do {
                for try await _ in try client.log(patterns, from: start, object: object, limit: 1) {}
            } catch {
                // For example, this user may receive no message. The wait then ends as after an answer.
            }
        }
        reading.finish()
    }

    /// Creates the durable subscription without attaching to it, so that another consumer can attach.
    private func create(_ durable: String, _ client: NotificationClient) async throws {
        let details = try await client.administration.createDurableSubscription(
            durable, to: patterns, object: object, from: start ?? .now, sharing: sharing)
        let cursor = details.existed ? details.subscription.cursor : nil
        if let notice = ExistingSubscription.startNotice(durable, start, resumedAfter: cursor) {
            StandardError.write(notice)
        }
    }

    private var kind: NotificationClient.SubscriptionKind {
        let start = start ?? .now
        return durable.map { .durable($0, from: start, sharing: sharing, takesOver: takesOver) }
            ?? .volatile(from: start, whenFull: .pauseReading)
    }
}

import NotifyClient

/// Runs a command for each message, for `subscribe --exec` and `wait`.
extension SubscribeRunner {
    /// Runs the command for each message, one after another, and answers the messages of a durable subscription.
    ///
    /// - Throws: `CommandFailure` with `notStarted` if the command can't be started; with `failure` if it fails, and
    ///   one message is awaited.
    func run(
        _ program: JobRunner, for subscription: NotificationClient.Subscription, extendingEvery interval: Duration?,
        until interruption: Interruption
    ) async throws {
        for try await event in subscription {
            switch event {
            case .gap(let gap): StandardError.write("\(gap)")
            case .message(let message):
                if let arrival, !arrival.take() { return }
                let outcome = await Self.run(program, message, extendingEvery: interval).settled(by: interruption)
                if case .notStarted(let reason) = outcome {
                    message.giveBack(delay: .zero)
                    throw program.failure(notStarted: reason)
                }
                // A command that was ended by an interruption has not failed: its message is given back when the
                // subscription is left.
                if outcome == .done || interruption.reason == nil { Self.answer(message, outcome) }
                if outcome == .done { arrival?.process() }
                if let reason = outcome.failureReason { try report(reason, message) }
            }
        }
    }

    /// Runs the command for a message, and extends the deadline of the message meanwhile.
    private static func run(
        _ program: JobRunner, _ message: NotificationClient.Message, extendingEvery interval: Duration?
    ) async -> JobOutcome {
        guard let interval else { return await program.run(message) }
        return await withTaskGroup(of: Void.self) { group in
            group.addTask {
                while (try? await Task.sleep(for: interval)) != nil { message.extendDeadline() }
            }
            defer { group.cancelAll() }
            return await program.run(message)
        }
    }

    private static func answer(_ message: NotificationClient.Message, _ outcome: JobOutcome) {
        switch outcome {
        case .done: message.acknowledge()
        case .givenBack: message.giveBack()
        case .failed(let reason): message.reject(reason: reason)
        case .deadLetter(let reason): message.fail(reason: reason)
        case .stopped, .notStarted: message.giveBack(delay: .zero)
        }
    }

    /// A third of the deadline of the durable subscription; nil if there is none.
    func extensionInterval(_ client: NotificationClient) async throws -> Duration? {
        guard let durable else { return nil }
        let deadline = try await client.administration.durableSubscription(durable).settings.deadline ?? .zero
        return deadline == .zero ? nil : deadline / 3
    }

    private func report(_ reason: String, _ message: NotificationClient.Message) throws {
        let text = JobOutcome.report(reason, of: message)
        if limit == 1 { throw CommandFailure(.failure, text) }
        StandardError.write(text)
    }
}

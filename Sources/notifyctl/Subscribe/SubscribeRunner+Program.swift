import NotifyClient

/// Runs a command for each message, for `subscribe --exec` and `wait`.
extension SubscribeRunner {
    /// Runs the command for each message, one after another, and answers the messages of a durable subscription.
    ///
    /// - Throws: `CommandFailure` with `notStarted` if the command can't be started; with `failure` if the command
    ///   fails and `limit` is 1.
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
                // A command that an interruption has ended has not failed. Its message is given back when the client
                // leaves the subscription.
                if outcome == .done || interruption.reason == nil { Self.answer(message, outcome) }
                if outcome == .done { arrival?.process() }
                if let reason = outcome.failureReason { try report(reason, message) }
            }
        }
    }

    /// Runs the command for a message. Extends the deadline of the message while the command runs.
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
        case .deadLetter(let reason): message.deadLetter(reason: reason)
        case .stopped, .notStarted: message.giveBack(delay: .zero)
        }
    }

    /// The time between two extensions of a message's deadline: a third of it; nil if there is no deadline.
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

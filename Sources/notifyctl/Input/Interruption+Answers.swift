extension Interruption {
    /// The time for an interrupted command that needs no answer of the daemon any more.
    static let closingLimit = Duration.seconds(1)

    /// Ends the process if it still runs some time after the interruption, because the daemon does not answer. Must run
    /// in a task beside the tasks of the command. Cancelling this task prevents the end.
    ///
    /// - Parameters:
    ///   - limit: The time that the daemon has for its answers.
    ///   - preparation: A step before the wait for the daemon, such as the end of running commands.
    ///   - failure: The error with which the process ends.
    func endUnanswered(
        after limit: (Reason) -> Duration = { _ in AnswerTimeout.current }, preparation: () async -> Void = {},
        _ failure: (Reason) -> CommandFailure
    ) async {
        guard let reason = await wait() else { return }
        await preparation()
        guard (try? await Task.sleep(for: limit(reason))) != nil else { return }
        Notifyctl.end(with: failure(reason))
    }
}

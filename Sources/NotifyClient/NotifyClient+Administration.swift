import NotifyCenter
import NotifyWire

extension NotifyClient {
    /// Makes the daemon read its configuration again. If a file has an error, nothing changes.
    ///
    /// - Returns: The keys of the changed settings that take effect at the daemon's next start.
    /// - Throws: ``NotifyError``, such as `forbidden` for a user who may not manage everything, or
    ///   `configurationInvalid`, whose message contains the file and the line.
    public nonisolated(nonsending) func reloadConfiguration() async throws(NotifyError) -> [String] {
        try await ask { .reload($0) }
    }

    /// Reports the damage of the log that the daemon knows of.
    ///
    /// A full check does not find damage of the database's indexes and free pages, which `notifyd --check` finds.
    ///
    /// - Parameters:
    ///   - full: Whether the daemon checks every row of the log first, in short pieces between other work. If a check is
    ///     under way already, this call gets its result.
    ///   - progress: Called with the percentage of the messages that are checked, on the client's event loop. Must return
    ///     soon.
    /// - Throws: ``NotifyError``, such as `forbidden` for a user who may not manage everything, or `limitReached` if 8
    ///   requests wait for a check.
    public nonisolated(nonsending) func check(
        full: Bool = false, progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(NotifyError) -> LogCheck {
        try await ask { .check(isFull: full, $0, progress: progress) }
    }

    /// Asks how the daemon's policy decides about a right.
    ///
    /// - Parameters:
    ///   - right: The right to ask about.
    ///   - name: A name. For ``Right/subscribe`` and ``Right/manage`` it may also be a pattern.
    ///   - subject: The user to ask about. To ask about another user, this user needs the right to manage everything.
    /// - Throws: ``NotifyError``, such as `invalidName`, or `forbidden` if the subject is another user and this user
    ///   may not manage everything.
    public nonisolated(nonsending) func policyDecision(
        on right: Right, _ name: String, for subject: PolicySubject
    ) async throws(NotifyError) -> PolicyDecision {
        guard subject.groups.count <= PolicyQuery.maximumGroups else {
            throw NotifyError(
                .invalidArgument, "\(subject.groups.count) groups; at most \(PolicyQuery.maximumGroups) are allowed")
        }
        do {
            if right == .post { _ = try NotificationName(name) } else { _ = try NamePattern(name) }
        } catch {
            throw NotifyError(right == .post ? .invalidName : .invalidPattern, error.message, cause: error)
        }
        return try await ask { .policy(PolicyQuestion(right: right, name: name, subject: subject), $0) }
    }
}

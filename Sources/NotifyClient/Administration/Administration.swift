import NotifyCenter
import NotifyWire

extension NotificationClient {
    /// Requests that manage durable subscriptions and dead letters, and requests about the daemon as a whole: its
    /// counters, its clients and subscriptions, the posts of others, its log and its configuration.
    ///
    /// ```swift
    /// let statistics = try await client.administration.statistics()
    /// print(statistics["subscriptions"] ?? 0)
    /// ```
    ///
    /// Lists contain the entries of this user or, if this user may manage everything, of all users. A few requests need
    /// the right to manage everything, which root has by default.
    public struct Administration: Sendable {
        let client: NotificationClient
        var timeout: Duration?

        nonisolated(nonsending) func ask<Request: RequestFrame>(
            _ request: Request, onPart: (@Sendable (Request.Reply) -> Void)? = nil
        ) async throws(NotifyError) -> Request.Reply {
            try await client.ask(request, timeout: timeout, onPart: onPart)
        }
    }

    /// Requests that manage durable subscriptions and dead letters, and requests about the daemon as a whole.
    public var administration: Administration { Administration(client: self) }

    /// The requests of ``administration``, each with this time limit instead of ``Configuration/requestTimeout``. The
    /// limit includes the wait for a connection.
    public func administration(timeout: Duration) -> Administration {
        Administration(client: self, timeout: timeout)
    }
}

extension NotificationClient.Administration {
    /// The result of a reload.
    public struct ReloadOutcome: Hashable, Sendable {
        /// The keys of the changed settings that take effect at the daemon's next start.
        public let pendingSettings: [String]
        /// A step of the reload that failed, such as the repair of the log, and how to solve the problem. The
        /// configuration is in effect nevertheless. `nil` if every step succeeded.
        public let problem: String?

        /// Creates an outcome, for example in a test.
        public init(pendingSettings: [String] = [], problem: String? = nil) {
            self.pendingSettings = pendingSettings
            self.problem = problem
        }

        init(_ reloaded: Reloaded) {
            self.init(
                pendingSettings: reloaded.pendingSettings, problem: reloaded.problem.isEmpty ? nil : reloaded.problem)
        }
    }

    /// Makes the daemon read its configuration again. If a file has an error, nothing changes. If files of the database
    /// are missing, the daemon also creates them again. If the database file itself was missing, the messages that the
    /// daemon does not have in memory are lost.
    ///
    /// - Returns: The result.
    /// - Throws: ``NotifyError``, such as `forbidden` for a user who may not manage everything, or
    ///   `configurationInvalid`, whose message contains the file and the line.
    public nonisolated(nonsending) func reloadConfiguration() async throws(NotifyError) -> ReloadOutcome {
        ReloadOutcome(try await ask(Reload()))
    }

    /// Reports the known damage of the daemon's log.
    ///
    /// A full check does not find damage of the database's indexes and free pages, which `notifyd --check` finds.
    ///
    /// - Parameters:
    ///   - full: Whether the daemon first checks every row of the log, in short pieces between other work. If a check
    ///     is already under way, this call gets the result of that check.
    ///   - progress: Called on the client's event loop with the percentage of the messages that have been checked. Must
    ///     return soon.
    /// - Throws: ``NotifyError``, such as `forbidden` for a user who may not manage everything, or `limitReached` if 8
    ///   requests wait for a check.
    public nonisolated(nonsending) func check(
        full: Bool = false, progress: @escaping @Sendable (Int) -> Void = { _ in }
    ) async throws(NotifyError) -> LogCheck {
        let reply = try await ask(CheckRequest(isFull: full)) { progress(Int($0.percent)) }
        guard let report = reply.report else { throw .protocolViolation(.unexpected) }
        return LogCheck(report)
    }

    /// Asks for the decision of the daemon's policy about a right.
    ///
    /// - Parameters:
    ///   - right: The right to ask about.
    ///   - name: A name. For ``Right/subscribe`` and ``Right/manage`` it may also be a pattern.
    ///   - subject: The user to ask about. Only a client that may manage everything may ask about another user than its
    ///     own.
    /// - Throws: ``NotifyError``, such as `invalidName`, or `forbidden` if the subject is another user and this user
    ///   may not manage everything.
    public nonisolated(nonsending) func policyDecision(
        on right: Right, _ name: String, for subject: PolicySubject
    ) async throws(NotifyError) -> PolicyDecision {
        guard subject.groups.count <= PolicyQuery.maximumGroups else {
            throw NotifyError(
                .invalidArgument, "\(subject.groups.count) groups; at most \(PolicyQuery.maximumGroups) are allowed")
        }
        if right == .post { _ = try NotificationName(checking: name) } else { _ = try NamePattern(checking: name) }
        let decision = try await ask(
            PolicyQuery(
                uid: subject.uid, gid: subject.gid, groups: subject.groups, right: NotifyWire.Right(right), name: name))
        return PolicyDecision(isAllowed: decision.isAllowed, reason: decision.reason)
    }
}

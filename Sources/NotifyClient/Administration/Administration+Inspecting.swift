import NotifyCenter
import NotifyWire

extension NotificationClient.Administration {
    /// Lists the connected clients of this user, including this client. If this user may manage everything, the list
    /// contains the clients of all users.
    ///
    /// The daemon answers in pieces: clients that connect or disconnect meanwhile may be missing.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func clients() async throws(NotifyError) -> [ClientStatus] {
        try await ask(EntriesRequest<ClientEntry>()).map(ClientStatus.init)
    }

    /// Lists the durable subscriptions of this user, and the volatile subscriptions and servers of its connected
    /// clients. If this user may manage everything, the list contains those of all users.
    ///
    /// The daemon answers in pieces: subscriptions and servers that begin or end meanwhile may be missing.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func subscriptions() async throws(NotifyError) -> [SubscriptionStatus] {
        try await ask(EntriesRequest<SubscriptionEntry>()).map(SubscriptionStatus.init)
    }

    /// Lists the names of recent posts that this user may receive, with counts. The order is undefined.
    ///
    /// The daemon counts only while clients request the list: the first list is empty, and later ones contain the
    /// counts since the first request. Counting ends when no client has requested the list for 10 seconds. At most
    /// 16,384 names are counted. To make room for others, the half with the fewest posts is dropped.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func names() async throws(NotifyError) -> [NameStatus] {
        try await ask(EntriesRequest<NameEntry>()).map(NameStatus.init)
    }

    /// Returns the posts since the previous call with the same patterns.
    ///
    /// The daemon records posts only for clients that call this repeatedly: the first result is empty, and recording
    /// ends when there is no call for 10 seconds, when the patterns change, or when the connection ends. The daemon
    /// records at most 5,000 posts per second for each client and keeps at most 256 KiB of them. For a client that may
    /// not manage everything, it compares at most 20,000 posts per second with the patterns. Other posts are skipped,
    /// and their number is reported with the next recorded post. At most 8 clients may monitor posts at the same time.
    /// At most 4 of these clients, and 2 of each user, may lack the right to manage everything.
    ///
    /// - Parameter patterns: 1 to 16 patterns of names. Accepted posts are recorded if this user may receive their
    ///   name, and refused posts if they are this user's or if this user may manage everything.
    /// - Throws: ``NotifyError``, such as `limitReached`.
    public nonisolated(nonsending) func monitoredPosts(to patterns: [String]) async throws(NotifyError)
        -> [MonitoredPost]
    {
        guard (1...MonitorRequest.maximumPatterns).contains(patterns.count) else {
            throw NotifyError(
                .invalidArgument,
                "\(patterns.count) patterns; a monitor takes 1 to \(MonitorRequest.maximumPatterns)")
        }
        for pattern in patterns { _ = try NamePattern(checking: pattern) }
        return try await ask(MonitorRequest(patterns: patterns)).map(MonitoredPost.init)
    }

    /// Returns a stored message and its state in each durable subscription that matches it.
    ///
    /// - Throws: ``NotifyError``, such as `unknownMessage` if the message is not stored or this user may not read it.
    public nonisolated(nonsending) func trace(_ sequence: UInt64) async throws(NotifyError) -> Trace {
        let reply = try await ask(TraceRequest(sequence: sequence))
        guard let message = reply.message else { throw .protocolViolation(.unexpected) }
        return Trace(
            message: PostSummary(message), subscriptions: reply.subscriptions.map(Trace.Subscription.init))
    }

    /// Reads the daemon's counters and its version.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func statistics() async throws(NotifyError) -> Statistics {
        let (core, deadline) = (client.core, client.core.deadline(after: timeout))
        while true {
            let lost = core.lostConnections
            let report = try await client.ask(StatisticsRequest(), timeout: deadline.left)
            let version = core.daemonVersion
            // After the loss of a connection, the version may be that of another daemon than the counters.
            if core.lostConnections == lost { return Statistics(report, version: version) }
        }
    }

    /// Reads the use of each limited resource: the totals of the daemon, and the amounts of this user or, if this user
    /// may manage everything, of the first 1,000 users. If there are more users, the use of `unlisted_users` is the
    /// number of the others.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func resourceUse() async throws(NotifyError) -> [ResourceUse] {
        ResourceUse.all(in: try await ask(LimitsRequest()))
    }
}

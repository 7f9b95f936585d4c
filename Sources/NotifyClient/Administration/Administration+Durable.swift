import NotifyCenter
import NotifyWire

/// Durable subscriptions, apart from receiving from them.
extension NotificationClient.Administration {
    /// Creates a durable subscription without receiving from it. The daemon keeps matching messages from then on.
    ///
    /// An existing subscription with these patterns and this object is not changed, whether a client is attached to it
    /// or not.
    ///
    /// - Parameters:
    ///   - name: 1 to 64 letters, digits, `.`, `_` or `-`; unique per user.
    ///   - patterns: The patterns of names to match, 1 to 64. A message that several of them match is kept once.
    ///   - object: The object to match; `nil` for messages with any object or none.
    ///   - start: Where the subscription begins.
    ///   - sharing: Whether several clients share its messages.
    ///   - settings: When and how often the subscription delivers messages again.
    /// - Returns: The subscription, with ``DurableDetails/existed``.
    /// - Throws: ``NotifyError``, such as `subscriptionMismatch` if the subscription exists with other patterns,
    ///   another object, or another sharing.
    @discardableResult
    public nonisolated(nonsending) func createDurableSubscription(
        _ name: String, to patterns: [String], object: String? = nil, from start: NotificationClient.Start = .now,
        sharing: NotificationClient.DurableSharing = .exclusive,
        settings: NotificationClient.DurableSettings = .init()
    ) async throws(NotifyError) -> DurableDetails {
        let kind = NotificationClient.SubscriptionKind.durable(name, from: start, sharing: sharing, settings: settings)
        let spec = try SubscriptionSpec(patterns: patterns, object: object, kind: kind, limit: 0)
        return DurableDetails(try await ask(spec.creation))
    }

    /// Checks arguments of ``createDurableSubscription(_:to:object:from:sharing:settings:)`` as far as that is
    /// possible without the daemon.
    package static func validateDurableSubscription(
        _ name: String, to patterns: [String], object: String?,
        settings: NotificationClient.DurableSettings = .init()
    ) throws(NotifyError) {
        _ = try SubscriptionSpec(
            patterns: patterns, object: object, kind: .durable(name, settings: settings), limit: 0)
    }

    /// Removes a durable subscription and its cursor.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - endsMembers: Whether to end the attachments of clients first. Their subscriptions then fail with
    ///     `unknownSubscription`. If false, no client may be attached.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`, `subscriptionInUse` while a client is attached to it,
    ///   or `invalidArgument` for 4,294,967,295, which is no user's uid.
    public nonisolated(nonsending) func removeDurableSubscription(
        _ name: String, endsMembers: Bool = false, uid: UInt32? = nil
    ) async throws(NotifyError) {
        let owner = try Self.owner(uid, of: name)
        _ = try await ask(Remove(uid: owner, endsMembers: endsMembers, durableName: name))
    }

    /// Describes a durable subscription.
    ///
    /// The daemon counts the pending messages as for ``durableSubscriptions()``.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`.
    public nonisolated(nonsending) func durableSubscription(
        _ name: String, uid: UInt32? = nil
    )
        async throws(NotifyError) -> DurableDetails
    {
        let owner = try Self.owner(uid, of: name)
        return DurableDetails(try await ask(Describe(uid: owner, durableName: name)))
    }

    /// Lists the durable subscriptions of this user. If this user may manage everything, the list contains the
    /// subscriptions of all users.
    ///
    /// The daemon counts the pending messages in its log. Usually, the counts are at most 5 seconds old. If counting
    /// takes longer, the answer has earlier counts from the last minute, or no counts if there are none.
    ///
    /// - Throws: ``NotifyError``.
    public nonisolated(nonsending) func durableSubscriptions() async throws(NotifyError)
        -> [DurableSubscription]
    {
        try await ask(EntriesRequest<DurableEntry>()).map(DurableSubscription.init)
    }

    /// Moves the cursor of a durable subscription forwards or backwards. Acknowledgements of messages after the
    /// position are forgotten, and earlier losses are no longer reported.
    ///
    /// An attached client continues at the new position, after a gap with the reason `recreated`. Stored messages after
    /// the position are delivered again, marked as redelivered if a client may have received them before.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - start: Where the subscription continues.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Returns: The subscription after the reset.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`, or `invalidArgument` for a sequence beyond the end of
    ///   the log.
    @discardableResult
    public nonisolated(nonsending) func resetDurableSubscription(
        _ name: String, to start: NotificationClient.Start, uid: UInt32? = nil
    ) async throws(NotifyError) -> DurableDetails {
        let owner = try Self.owner(uid, of: name)
        return DurableDetails(try await ask(Reset(uid: owner, durableName: name, to: start.position())))
    }

    /// Replaces the patterns of a durable subscription. Its cursor and its acknowledgements stay, so it delivers the
    /// unacknowledged stored messages that the new patterns match.
    ///
    /// An attached client stays attached, and receives by the new patterns. A client that attaches later must name the
    /// new patterns.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Returns: The subscription with its new patterns.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`, or `forbidden` if the owner may not receive a pattern.
    @discardableResult
    public nonisolated(nonsending) func editDurableSubscription(
        _ name: String, patterns: [String], uid: UInt32? = nil
    ) async throws(NotifyError) -> DurableDetails {
        try Self.validateDurableSubscription(name, to: patterns, object: nil)
        let owner = try Self.owner(uid, of: name)
        return DurableDetails(try await ask(Edit(uid: owner, durableName: name, patterns: patterns)))
    }

    /// Changes settings of a durable subscription. Attached clients stay attached. Messages that are already delivered
    /// keep their deadlines. A new deadline applies to later messages. Clients that process messages in handlers
    /// extend it while a handler runs.
    ///
    /// - Parameters:
    ///   - name: The subscription's name.
    ///   - settings: The settings to change. Settings that are `nil` stay as they are.
    ///   - uid: The uid of the owner; `nil` for this user. To name another user, this user needs the right to manage
    ///     everything.
    /// - Returns: The subscription with its new settings.
    /// - Throws: ``NotifyError``, such as `unknownSubscription`, or `invalidArgument` for values out of range.
    @discardableResult
    public nonisolated(nonsending) func configureDurableSubscription(
        _ name: String, _ settings: NotificationClient.DurableSettings, uid: UInt32? = nil
    ) async throws(NotifyError) -> DurableDetails {
        let owner = try Self.owner(uid, of: name)
        return DurableDetails(try await ask(Configure(uid: owner, durableName: name, changes: settings.changes())))
    }

    /// Checks the name and the owner of a durable subscription that a request names.
    ///
    /// - Returns: The owner in the protocol; `Remove.ownUID` for this user.
    /// - Throws: `invalidSubscriptionName`, or `invalidArgument` for a uid that no user has.
    static func owner(_ uid: UInt32?, of name: String) throws(NotifyError) -> UInt32 {
        try NotifyError.checking { () throws(WireError) in try Limits.validateSubscriptionName(name) }
        guard uid != Remove.ownUID else {
            throw NotifyError(.invalidArgument, "\(Remove.ownUID) is not the uid of a user; omit it for your own")
        }
        return uid ?? Remove.ownUID
    }
}

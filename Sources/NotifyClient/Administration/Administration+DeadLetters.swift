import Algorithms
import NotifyWire
import ServiceLifecycle

extension NotificationClient.Administration {
    /// The result of ``retryDeadLetters(of:sequences:uid:)`` or
    /// ``purgeDeadLetters(of:sequences:uid:)``.
    public struct DeadLetterResult: Hashable, Sendable {
        /// The number of dead letters that were delivered again or deleted.
        public internal(set) var messages: UInt64
        /// The number of dead letters that stay because their durable subscription can't take the message: for example,
        /// it does not exist, has no room, or no longer matches the message.
        public internal(set) var kept: UInt64

        init(messages: UInt64 = 0, kept: UInt64 = 0) {
            self.messages = messages
            self.kept = kept
        }

        init(_ done: DeadLettersDone) {
            self.init(messages: done.messages, kept: done.kept)
        }
    }

    /// Reads dead letters: messages of durable subscriptions that could not be processed.
    ///
    /// ```swift
    /// for try await letter in try await client.administration.deadLetters(of: "billing") {
    ///     print(letter.sequence, letter.name, letter.deliveries, letter.reason ?? "")
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The durable subscription; `nil` for all.
    ///   - start: The position in the log of the first dead letter.
    ///   - limit: The number of dead letters after which the sequence ends; `nil` for no limit.
    ///   - follows: Whether to continue with each dead letter as it is stored.
    ///   - order: Whether the oldest or the newest dead letter comes first. A sequence that follows the log must begin
    ///     with the oldest.
    ///   - uid: The uid of the owner of the durable subscriptions; `nil` for this user. Only root may read dead letters
    ///     of other users, unless the policy permits it.
    ///   - onGap: Called with each gap for dead letters that are damaged or were deleted before the sequence reached
    ///     them. Runs in the task that reads the sequence. If nil, the client's logger logs gaps as warnings.
    /// - Throws: ``NotifyError``, such as `invalidSubscriptionName`; the sequence throws `forbidden` if this user may
    ///   not read the dead letters.
    public nonisolated(nonsending) func deadLetters(
        of name: String? = nil, from start: NotificationClient.Start = .oldest, limit: Int? = nil,
        follows: Bool = false, order: NotificationClient.LogOrder = .oldestFirst, uid: UInt32? = nil,
        onGap: (@Sendable (NotificationClient.Gap) -> Void)? = nil
    ) async throws(NotifyError) -> DeadLetters {
        if let name { _ = try Self.owner(uid, of: name) }
        let core = client.core
        let onGap = onGap ?? { core.logWarning($0, metadata: $0.metadata) }
        var owner = uid ?? core.uid
        if owner == nil {
            do throws(NotifyError) {
                // The daemon reports the uid at the beginning of each connection, so it is known after any answer.
                _ = try await core.answer(to: FrameCall(Ping(), timeout: timeout), endsOnShutdown: follows)
                owner = core.uid
            } catch {
                guard follows, !Task.isCancelled, Task.isShuttingDownGracefully else { throw error }
                return DeadLetters(messages: nil, onGap: onGap)
            }
        }
        return DeadLetters(
            messages: try client.log(
                "\(DeadLetterHeaders.namePrefix)\(owner ?? 0)", from: start, object: name, limit: limit,
                follows: follows, order: order, timeout: timeout),
            onGap: onGap)
    }

    /// Delivers dead letters again. Each message goes only to its durable subscription, and is no longer a dead letter.
    /// Its earlier failures no longer count.
    ///
    /// - Parameters:
    ///   - name: The durable subscription; `nil` for all.
    ///   - sequences: The ``DeadLetter/sequence`` of each dead letter; `nil` for all of them.
    ///   - uid: The uid of the owner of the durable subscriptions; `nil` for this user. To name another user, this user
    ///     needs the right to manage everything.
    /// - Throws: ``NotifyError``; `outcomeUnknown` if the connection is lost before the answer.
    @discardableResult
    public nonisolated(nonsending) func retryDeadLetters(
        of name: String? = nil, sequences: [UInt64]? = nil, uid: UInt32? = nil
    ) async throws(NotifyError) -> DeadLetterResult {
        try await change(.retry, name, sequences, uid)
    }

    /// Deletes dead letters. The parameters are those of ``retryDeadLetters(of:sequences:uid:)``.
    @discardableResult
    public nonisolated(nonsending) func purgeDeadLetters(
        of name: String? = nil, sequences: [UInt64]? = nil, uid: UInt32? = nil
    ) async throws(NotifyError) -> DeadLetterResult {
        try await change(.purge, name, sequences, uid)
    }

    private nonisolated(nonsending) func change(
        _ action: NotifyWire.DeadLetters.Action, _ name: String?, _ sequences: [UInt64]?, _ uid: UInt32?
    ) async throws(NotifyError) -> DeadLetterResult {
        // The check of the uid needs a name, and any valid one will do.
        var request = NotifyWire.DeadLetters(
            uid: try Self.owner(uid, of: name ?? "all"), action: action, durableName: name ?? "")
        guard let sequences else { return DeadLetterResult(try await ask(request)) }
        var result = DeadLetterResult()
        for part in Set(sequences).subtracting([0]).sorted().chunks(ofCount: Limits.deadLettersPerFrame) {
            request.sequences = Array(part)
            let done = try await ask(request)
            result.messages += done.messages
            result.kept += done.kept
        }
        return result
    }
}

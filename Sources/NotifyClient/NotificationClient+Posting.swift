extension NotificationClient {
    /// Posts a message and waits for its receipt.
    ///
    /// Any number of tasks may post at the same time. Their messages share the connection and the daemon's limit of
    /// unanswered posts per connection. The messages of one task keep their order. To post many messages from one task,
    /// use ``postPipeline(capacity:timeout:)``.
    ///
    /// Without a connection the post waits for one, at most ``Configuration/connectionWait``. If the connection breaks
    /// before the receipt arrives, the post fails with `outcomeUnknown`. The client does *not* send it again, because
    /// the daemon may have processed it. The exception is a daemon that shuts down: the client sends a post again if
    /// that daemon reported the post as not processed.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
    ///     ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: The daemon's receipt, once the requested durability is reached.
    /// - Throws: ``NotifyError``. In a cancelled task the post fails with `cancelled`; the message of the error says
    ///   whether the post was already sent. A graceful shutdown of the task's service ends the wait for a connection
    ///   with `cancelled`, too.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ message: OutgoingMessage, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        guard let instruments = core.instruments else { return try await submit(message, timeout: timeout) }
        var message = message
        let request = instruments.begin(&message)
        do throws(NotifyError) {
            let receipt = try await submit(message, timeout: timeout)
            request.end()
            return receipt
        } catch {
            request.end(error)
            throw error
        }
    }

    private nonisolated(nonsending) func submit(
        _ message: OutgoingMessage, timeout: Duration?
    ) async throws(NotifyError) -> Receipt {
        let slot = ReplySlot<Receipt>(timeout: timeout)
        core.submit(message, .task(slot))
        return try await core.wait(for: slot)
    }

    /// Posts bytes, by default none, and waits for the receipt, as ``post(_:timeout:)`` does.
    ///
    /// An array is not copied; any other collection is copied once.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, _ payload: some Collection<UInt8> = [UInt8](), object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        try await post(
            OutgoingMessage(
                name: name, payload: payload, object: object, headers: headers, durability: durability),
            timeout: timeout)
    }

    /// Posts a text as UTF-8 and waits for the receipt, as ``post(_:timeout:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, _ text: some StringProtocol, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        try await post(
            name, Array(text.utf8), object: object, headers: headers, durability: durability, timeout: timeout)
    }

    /// Posts a value as JSON and waits for the receipt, as ``post(_:timeout:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule, `coding` if the value can't be encoded.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, json value: some Encodable, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        try await post(
            name, encodeJSON(value), object: object, headers: headers, durability: durability, timeout: timeout)
    }

    /// Posts without requesting a receipt. Returns once the message is in the connection's write buffer.
    ///
    /// The outcome is not reported: the message may be lost with the connection, and a refusal is only logged. Waits
    /// while there is no connection, at most ``Configuration/connectionWait``, and while the buffer is full.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
    ///     ``Configuration/requestTimeout`` once there is a connection.
    /// - Throws: ``NotifyError``, such as `notConnected`, `timedOut`, `payloadTooLarge`, `cancelled`, `stopped` or, in
    ///   a forked child, `forked`.
    public nonisolated(nonsending) func send(
        _ message: OutgoingMessage, timeout: Duration? = nil
    ) async throws(NotifyError) {
        let message = core.instruments?.tracing?.withContext(message) ?? message
        let slot = ReplySlot<Void>(timeout: timeout)
        core.submit(message, .sender(slot))
        try await core.wait(for: slot)
    }

    /// Posts bytes, by default none, without requesting a receipt, as ``send(_:timeout:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    public nonisolated(nonsending) func send(
        _ name: String, _ payload: some Collection<UInt8> = [UInt8](), object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic, timeout: Duration? = nil
    ) async throws(NotifyError) {
        try await send(
            OutgoingMessage(
                name: name, payload: payload, object: object, headers: headers, durability: durability),
            timeout: timeout)
    }

    /// Posts a text without requesting a receipt, as ``send(_:timeout:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    public nonisolated(nonsending) func send(
        _ name: String, _ text: some StringProtocol, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic, timeout: Duration? = nil
    ) async throws(NotifyError) {
        try await send(
            name, Array(text.utf8), object: object, headers: headers, durability: durability, timeout: timeout)
    }

    /// Makes a pipeline, which posts many messages from one task without waiting for each receipt.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of posts that wait for a receipt or whose outcome was not read yet; at least 1.
    ///     A task that reads outcomes one by one takes up to an eighth of this number in advance, which do not count.
    ///   - timeout: The time limit of each post once it has room in the pipeline. It includes the wait for a
    ///     connection; `nil` for ``Configuration/requestTimeout`` once there is a connection.
    public func postPipeline(capacity: Int = 16_384, timeout: Duration? = nil) -> PostPipeline {
        PostPipeline(core: core, capacity: max(1, capacity), timeout: timeout)
    }
}

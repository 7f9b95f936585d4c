extension NotifyClient {
    /// Posts a message and waits for its receipt.
    ///
    /// Any number of tasks may post at once: their messages share the connection, up to the window that the daemon allows,
    /// and those of one task keep their order. To post many from one task, see ``postPipeline(capacity:)``.
    ///
    /// Without a connection the post waits for one, at most ``Configuration/connectionWait``. If the connection breaks
    /// before the receipt comes, the post is *not* sent again, because it may have been carried out; it fails with
    /// `outcomeUnknown`. Only what a daemon that shuts down said it had not carried out is sent again.
    ///
    /// - Throws: ``NotifyError``. In a task that is cancelled the post fails with `cancelled`; its message says whether it
    ///   was under way already.
    @discardableResult
    public nonisolated(nonsending) func post(_ message: OutgoingMessage) async throws(NotifyError) -> Receipt {
        let slot = ReplySlot<Receipt>()
        core.submit(message, .task(slot))
        return try await slot.wait { [core] in core.cancelPost(slot) }
    }

    /// Posts any collection of bytes, or nothing, and waits for the receipt, as ``post(_:)`` does.
    ///
    /// An array is not copied; of other collections one copy is made.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, _ payload: some Collection<UInt8> = [UInt8](), object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic
    ) async throws(NotifyError) -> Receipt {
        try await post(
            OutgoingMessage(
                name: name, payload: payload, object: object, headers: headers, durability: durability))
    }

    /// Posts a text as UTF-8 and waits for the receipt, as ``post(_:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, _ text: some StringProtocol, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic
    ) async throws(NotifyError) -> Receipt {
        try await post(name, Array(text.utf8), object: object, headers: headers, durability: durability)
    }

    /// Posts a value as JSON and waits for the receipt, as ``post(_:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule, `coding` if the value can't be encoded.
    @discardableResult
    public nonisolated(nonsending) func post(
        _ name: String, json value: some Encodable, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic
    ) async throws(NotifyError) -> Receipt {
        try await post(name, encodeJSON(value), object: object, headers: headers, durability: durability)
    }

    /// Posts without asking for a receipt: returns once the message is in the connection's buffer.
    ///
    /// Whether it arrives is not known: it is lost with the connection, and a refusal only reaches the log. It waits while
    /// there is no connection, at most ``Configuration/connectionWait``, and while the buffer is full.
    ///
    /// - Throws: ``NotifyError`` with `notConnected`, `payloadTooLarge`, `cancelled` or `stopped`.
    public nonisolated(nonsending) func send(_ message: OutgoingMessage) async throws(NotifyError) {
        let slot = ReplySlot<Void>()
        core.submit(message, .sender(slot))
        try await slot.wait { [core] in core.cancelPost(slot) }
    }

    /// Posts any collection of bytes, or nothing, without asking for a receipt, as ``send(_:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    public nonisolated(nonsending) func send(
        _ name: String, _ payload: some Collection<UInt8> = [UInt8](), object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic
    ) async throws(NotifyError) {
        try await send(
            OutgoingMessage(
                name: name, payload: payload, object: object, headers: headers, durability: durability))
    }

    /// Posts a text without asking for a receipt, as ``send(_:)`` does.
    ///
    /// - Throws: ``NotifyError``; `invalidName` if the name breaks a rule.
    public nonisolated(nonsending) func send(
        _ name: String, _ text: some StringProtocol, object: String? = nil, headers: Headers = [:],
        durability: Durability = .automatic
    ) async throws(NotifyError) {
        try await send(name, Array(text.utf8), object: object, headers: headers, durability: durability)
    }

    /// A way to post many messages from one task, at the full speed of the connection.
    ///
    /// - Parameter capacity: Posts that are under way, or whose result was not read yet, at most; at least 1.
    public func postPipeline(capacity: Int = 16_384) -> PostPipeline {
        PostPipeline(core: core, capacity: max(1, capacity))
    }
}

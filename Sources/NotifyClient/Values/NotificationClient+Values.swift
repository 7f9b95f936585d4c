import NotifyCenter
import NotifyWire

/// Values: the last message of each name and object that was set as a value. The daemon keeps it, also over restarts,
/// until another one replaces it or it is cleared. The retention of the log does not delete values.
extension NotificationClient {
    /// Posts a message that is kept as the value of its name and object, and waits for the receipt. Subscribers get the
    /// message as any other.
    ///
    /// ```swift
    /// let receipt = try await client.setValue("running", for: "jobs.backup")
    /// try await client.setValue("done", for: "jobs.backup", ifSequence: receipt.sequence)
    /// ```
    ///
    /// To set many values, pass ``OutgoingMessage/asValue(ifSequence:)`` to a ``PostPipeline``.
    ///
    /// - Parameters:
    ///   - payload: The content; may be empty.
    ///   - name: The name.
    ///   - object: The object. Each object of a name has a value of its own, and so has the name without an object.
    ///   - headers: The headers.
    ///   - sequence: The sequence that the present value must have, 0 if there must be none; `nil` to replace any value.
    ///   - isSynced: Whether to wait until the value is flushed to disk.
    ///   - timeout: The time limit, as for ``post(_:timeout:)``.
    /// - Returns: The receipt. Its sequence is the revision of the value.
    /// - Throws: ``NotifyError``; `valueChanged` if the present value has another sequence, which is the error's
    ///   ``NotifyError/detail``, 0 if there is no value. `valueInUse` if a connection has announced the value: the detail
    ///   is the pid of its process. Otherwise as ``post(_:timeout:)``.
    @discardableResult
    public nonisolated(nonsending) func setValue(
        _ payload: some Collection<UInt8>, for name: String, object: String? = nil, headers: Headers = [:],
        ifSequence sequence: UInt64? = nil, isSynced: Bool = false, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        let message = try OutgoingMessage(
            name: name, payload: payload, object: object, headers: headers, durability: isSynced ? .synced : .stored)
        return try await post(message.asValue(ifSequence: sequence), timeout: timeout)
    }

    /// Sets a value to a text as UTF-8, as the overload with bytes does.
    @discardableResult
    public nonisolated(nonsending) func setValue(
        _ text: some StringProtocol, for name: String, object: String? = nil, headers: Headers = [:],
        ifSequence sequence: UInt64? = nil, isSynced: Bool = false, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        try await setValue(
            Array(text.utf8), for: name, object: object, headers: headers, ifSequence: sequence, isSynced: isSynced,
            timeout: timeout)
    }

    /// Sets a value to a Swift value as JSON, as the overload with bytes does. ``Message/decode(as:)`` decodes it.
    ///
    /// ```swift
    /// try await client.setValue(json: Progress(done: 3, of: 10), for: "jobs.backup")
    /// ```
    ///
    /// - Throws: As the overload with bytes; `coding` if the value can't be encoded.
    @discardableResult
    public nonisolated(nonsending) func setValue(
        json value: some Encodable, for name: String, object: String? = nil, headers: Headers = [:],
        ifSequence sequence: UInt64? = nil, isSynced: Bool = false, timeout: Duration? = nil
    ) async throws(NotifyError) -> Receipt {
        try await setValue(
            encodeJSON(value), for: name, object: object, headers: headers, ifSequence: sequence, isSynced: isSynced,
            timeout: timeout)
    }

    /// Returns the value of a name and object; `nil` if there is none.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - object: The object; `nil` for the value without an object.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
    ///     ``Configuration/requestTimeout`` once there is a connection.
    /// - Throws: ``NotifyError``; `forbidden` if this user may not receive the name, `storageFailed` if the log can't be
    ///   read, `logDamaged` if the value is damaged.
    public nonisolated(nonsending) func value(
        of name: String, object: String? = nil, timeout: Duration? = nil
    ) async throws(NotifyError) -> Message? {
        let request = ReadValues(
            maximumMessages: 1, object: try ValueCursor.checked(object),
            patterns: [try NotificationName(checking: name).string])
        let page = try await core.values(request, timeout: timeout)
        guard page.header.damaged == 0 else { throw .damagedValue }
        return page.messages.first
    }

    /// Returns the values whose names match, as an asynchronous sequence that reads them page by page, one page in
    /// memory at a time. Each value is read once, in its state at that time. Only a stored one that is cleared and then
    /// announced meanwhile is read twice, the announced value later. Their order has no meaning. Values that are damaged
    /// in the log are left out, unless no pattern has a wildcard: then the sequence throws `logDamaged`.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - object: The object to match; `nil` for values with any object or none.
    ///   - timeout: The time limit for each page, as for ``value(of:object:timeout:)``.
    /// - Throws: ``NotifyError`` for invalid patterns. The sequence throws as ``value(of:object:timeout:)``.
    public func values(
        matching patterns: [String], object: String? = nil, timeout: Duration? = nil
    ) throws(NotifyError) -> some AsyncSequence<Message, NotifyError> & Sendable {
        Values(client: self, cursor: try ValueCursor(patterns, object: object), timeout: timeout)
    }

    /// Watches values: returns their present state, and then each change.
    ///
    /// ```swift
    /// for try await event in try client.watch(["jobs.>"]) {
    ///     switch event {
    ///     case .value(let message): board[message.name] = message.text
    ///     case .cleared(let message): board[message.name] = nil
    ///     case .upToDate: show(board)
    ///     case .reset: board = [:]
    ///     case .damaged: break
    ///     }
    /// }
    /// ```
    ///
    /// A watch shows committed and announced values, and never an older state after a newer one. If it is read slowly,
    /// it gets the latest state of each value, and skips those between. If the connection is lost, it continues with
    /// what has changed since; if that is unknown, it begins anew with `reset`. What is held in memory is at most one page
    /// of values, the names of the reported announced values and, while the watch is behind the present state, a sequence
    /// for each value that has changed meanwhile. Each iterator begins anew. The sequence ends in a cancelled task, and
    /// when the service of the task is shut down gracefully.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - object: The object to match; `nil` for values with any object or none.
    ///   - position: The position of an earlier watch of the same patterns and object, to get what has changed since.
    ///     A position does not cover announced values (see ``Message/isEphemeral``): discard those that the earlier watch
    ///     has reported. The watch reports the present ones again.
    /// - Throws: ``NotifyError`` for invalid patterns. The sequence throws `forbidden` if this user may not receive a
    ///   pattern, and other errors of the daemon.
    public func watch(
        _ patterns: [String], object: String? = nil, from position: ValuePosition? = nil
    ) throws(NotifyError) -> some AsyncSequence<ValueEvent, NotifyError> & Sendable {
        ValueWatch(client: self, cursor: try ValueCursor(patterns, object: object, isWatch: true, from: position))
    }

    /// Clears the value of a name and object. Subscribers get a message without content whose
    /// ``Message/clearedReason`` is `cleared`.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - object: The object; `nil` for the value without an object.
    ///   - sequence: The sequence that the value must have; `nil` to clear any value.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
    ///     ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: Whether there was a value.
    /// - Throws: ``NotifyError``; `forbidden` if this user may not post the name, `valueChanged` and `valueInUse` as for
    ///   setting a value, `outcomeUnknown` if the connection breaks before the answer arrives.
    @discardableResult
    public nonisolated(nonsending) func clear(
        _ name: String, object: String? = nil, ifSequence sequence: UInt64? = nil, timeout: Duration? = nil
    ) async throws(NotifyError) -> Bool {
        try await ask(
            ClearValues(
                ifSequence: sequence, object: try ValueCursor.checked(object),
                patterns: [try NotificationName(checking: name).string]),
            timeout: timeout
        ).count > 0
    }

    /// Clears the values whose names match, a page at a time. Not atomic: an error may leave some of them cleared.
    ///
    /// - Parameters:
    ///   - patterns: The patterns of names to match, 1 to 64.
    ///   - object: The object to match; `nil` for values with any object or none.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for no limit once there is a
    ///     connection.
    /// - Returns: The number of values that were cleared.
    /// - Throws: As ``clear(_:object:ifSequence:timeout:)``; `valueInUse` only for names without wildcards. Announced values
    ///   that match a wildcard are left out.
    @discardableResult
    public nonisolated(nonsending) func clear(
        matching patterns: [String], object: String? = nil, timeout: Duration? = nil
    ) async throws(NotifyError) -> Int {
        let cursor = try ValueCursor(patterns, object: object)
        return Int(
            clamping: try await ask(
                ClearValues(object: object, patterns: cursor.patterns), timeout: timeout
            ).count)
    }
}

extension NotifyError {
    static var damagedValue: NotifyError {
        NotifyError(.logDamaged, "the value is damaged in the daemon's log; set it again")
    }
}

extension ClientCore {
    nonisolated(nonsending) func values(
        _ request: ReadValues, timeout: Duration?
    ) async throws(NotifyError) -> ReceivedPage<ValuePage> {
        try await retrying(
            until: deadline(after: request.isWaiting ? nil : timeout), endsOnShutdown: request.isWaiting
        ) {
            PageCall(request, timeout: $0)
        }
    }
}

/// Methods that wait for one message.
extension LocalCenter {
    /// Waits for the next message of a type.
    ///
    /// The trailing closure runs after the observation has begun. Post a request there, so that the answer is not
    /// missed:
    ///
    /// ```swift
    /// let answer = await center.nextMessage(of: Pong.self, timeout: .seconds(1)) { center.post(Ping()) }
    /// ```
    ///
    /// - Parameters:
    ///   - type: The type of the message.
    ///   - object: If not nil, waits for a message with an equal object.
    ///   - options: The options of the observation, such as `.filter(Pong.self) { $0.number == 7 }`.
    ///   - timeout: The maximum time to wait after the closure has returned; nil for no limit.
    ///   - clock: Measures the timeout. Tests may pass a manual clock.
    ///   - fileID: The source file, for diagnostics.
    ///   - line: The source line, for diagnostics.
    ///   - body: Runs after the observation has begun and before the wait.
    /// - Returns: The message; nil after the timeout or if the task is cancelled. A message that was posted while the
    ///   closure ran is returned immediately, unless the task is cancelled. So is a value, unless the
    ///   options contain `.withoutValues`.
    /// - Throws: The errors of the closure.
    nonisolated(nonsending) public func nextMessage<Message: NotificationMessage, Failure: Error>(
        of type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        timeout: Duration? = nil, clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID,
        line: UInt = #line, afterObserving body: nonisolated(nonsending) () async throws(Failure) -> Void
    ) async throws(Failure) -> Message? {
        let messages = messages(of: type, object: object, options: [options, .once], fileID: fileID, line: line)
        try await body()
        return await messages.first(timeout: timeout, clock: clock)
    }

    /// Waits for the next message of a type. See
    /// ``nextMessage(of:object:options:timeout:clock:fileID:line:afterObserving:)``.
    nonisolated(nonsending) public func nextMessage<Message: NotificationMessage>(
        of type: Message.Type, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        timeout: Duration? = nil, clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID,
        line: UInt = #line
    ) async -> Message? {
        await nextMessage(
            of: type, object: object, options: options, timeout: timeout, clock: clock, fileID: fileID, line: line
        ) {}
    }

    /// Waits for the next notification that matches the names. See
    /// ``nextMessage(of:object:options:timeout:clock:fileID:line:afterObserving:)``.
    ///
    /// - Throws: ``NameError`` if a string is not a valid name or pattern. Names and patterns that are already checked
    ///   never throw.
    nonisolated(nonsending) public func nextNotification<Names: NotificationNames>(
        for names: Names, object: NotificationObject? = nil, options: ObservationOptions = ObservationOptions(),
        timeout: Duration? = nil, clock: any Clock<Duration> = ContinuousClock(), fileID: StaticString = #fileID,
        line: UInt = #line, afterObserving body: nonisolated(nonsending) () async -> Void = {}
    ) async throws(Names.Failure) -> LocalNotification? {
        let notifications = try notifications(
            for: names, object: object, options: [options, .once], fileID: fileID, line: line)
        await body()
        return await notifications.first(timeout: timeout, clock: clock)
    }
}

extension NotificationSequence {
    /// Waits for the first element. Returns nil if the sequence ends or the timeout elapses first.
    nonisolated(nonsending) fileprivate func first(timeout: Duration?, clock: any Clock<Duration>) async -> Element? {
        var iterator = makeAsyncIterator()
        guard let timeout else { return await iterator.next() }
        // The timeout begins here, not when the timer task starts.
        let sleep = clock.sleeper(for: timeout)
        let timer = Task { [mailbox = iterator.mailbox] in
            // The sleep throws if the timer was cancelled.
            if (try? await sleep()) != nil { mailbox.endWaits() }
        }
        defer { timer.cancel() }
        return await iterator.next()
    }
}

extension Clock<Duration> {
    /// Returns a function that sleeps until this interval from now has passed.
    fileprivate func sleeper(for interval: Duration) -> @Sendable () async throws -> Void {
        // Swift's clocks trap at times beyond 292 years.
        let due = now.advanced(by: min(interval, .seconds(100 * 365 * 86_400)))
        return { try await sleep(until: due, tolerance: nil) }
    }
}

import NotifyCenter
import NotifyWire

/// Announced values: values that live as long as the connection of the client.
extension NotificationClient {
    /// The content of the message that the daemon posts in the name of the client when its connection has ended, under
    /// the name and object of the announced value. As MQTT's will.
    public struct Will: Sendable {
        /// The content.
        public var payload: [UInt8]
        /// The headers.
        public var headers: Headers

        /// Makes a will.
        public init(_ payload: some Collection<UInt8>, headers: Headers = [:]) {
            self.payload = Array(payload)
            self.headers = headers
        }

        /// Makes a will with a text as UTF-8.
        public init(_ text: some StringProtocol, headers: Headers = [:]) {
            self.init(Array(text.utf8), headers: headers)
        }
    }

    /// Announces a value: posts a message that the daemon keeps as the value of its name and object while this client
    /// is connected.
    ///
    /// ```swift
    /// let presence = try await client.announce("services.backup", "running", will: .init("died"))
    /// try await presence.update("almost done")
    /// try await presence.withdraw()
    /// ```
    ///
    /// When the connection ends, for whatever reason, the daemon clears the value: subscribers get a message whose
    /// ``Message/clearedReason`` is `disconnected`, and then the will. So the value means that the process is connected,
    /// not that it works well. An announced value is never stored: durable subscriptions do not get it, and it does not
    /// survive the daemon. After a lost connection the client announces it again. When the client stops, it withdraws
    /// its values, without their wills, unless there is no connection at that time.
    ///
    /// One connection at a time announces a value, and there is none beside a stored value.
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - payload: The content; may be empty.
    ///   - object: The object. Each object of a name has a value of its own.
    ///   - headers: The headers.
    ///   - will: The message to post when the connection has ended; `nil` for none. The value and its will share the
    ///     limit of one payload, 1 MiB by default.
    ///   - grace: The time that the value stays after the connection has ended, so that this client can connect again
    ///     without a notice; at most 10 minutes.
    ///   - takesOver: Whether to replace a value that another connection has announced. Permitted to the same user, and
    ///     to users with the right to manage everything.
    ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
    ///     ``Configuration/requestTimeout`` once there is a connection.
    /// - Returns: The announcement.
    /// - Throws: ``NotifyError``; `valueInUse` if another connection announces the value, whose pid is the error's
    ///   ``NotifyError/detail``, or, with the detail 0, if this client announces it already or there is a stored value.
    ///   `forbidden` if this user may not post the name.
    public nonisolated(nonsending) func announce(
        _ name: String, _ payload: some Collection<UInt8>, object: String? = nil, headers: Headers = [:],
        will: Will? = nil, grace: Duration = .zero, takesOver: Bool = false, timeout: Duration? = nil
    ) async throws(NotifyError) -> Announcement {
        guard (.zero...Limits.maximumGrace).contains(grace) else {
            throw NotifyError(.invalidArgument, "the grace period is 0 to \(Limits.maximumGrace.text), not \(grace)")
        }
        let message = try OutgoingMessage(
            name: name, payload: payload, object: object, headers: headers, durability: .volatile)
        let encodedWill: AnnouncedContent.Will? =
            if let will { AnnouncedContent.Will(headers: try will.headers.encoded(), payload: will.payload) } else {
                nil
            }
        let content = AnnouncedContent(message: message, will: encodedWill, grace: grace)
        let end = AnnouncementEnd()
        let opened = ReplySlot<Announced>(timeout: timeout)
        let number = core.announce(content, takesOver: takesOver, end, openWaiter: opened)
        do throws(NotifyError) {
            _ = try await opened.wait {
                opened.fail(.cancelled)
            } onGracefulShutdown: {
                opened.fail(.shutDown)
            }
        } catch {
            core.withdraw(number)
            throw error
        }
        return Announcement(core: core, number: number, content: content, end: end)
    }

    /// Announces a text as UTF-8, as the overload with bytes does.
    public nonisolated(nonsending) func announce(
        _ name: String, _ text: some StringProtocol, object: String? = nil, headers: Headers = [:], will: Will? = nil,
        grace: Duration = .zero, takesOver: Bool = false, timeout: Duration? = nil
    ) async throws(NotifyError) -> Announcement {
        try await announce(
            name, Array(text.utf8), object: object, headers: headers, will: will, grace: grace, takesOver: takesOver,
            timeout: timeout)
    }

    /// A value that the client announces. It stays announced until it is withdrawn or the client stops, even if this
    /// handle is released.
    public struct Announcement: Sendable {
        let core: ClientCore
        let number: UInt32
        let content: AnnouncedContent
        let end: AnnouncementEnd

        /// The name of the value.
        public var name: String { content.message.name }

        /// The object of the value; `nil` for none.
        public var object: String? { content.message.object }

        /// Replaces the content of the value, and posts it. The will and the grace period stay.
        ///
        /// - Parameters:
        ///   - payload: The content; may be empty.
        ///   - headers: The headers.
        ///   - timeout: The time limit; `nil` for ``Configuration/requestTimeout``.
        /// - Throws: ``NotifyError``; `invalidArgument` if the value is not announced any more, `notConnected` or
        ///   `outcomeUnknown` if there is no connection or it is lost: the new content is announced after the client has
        ///   connected again.
        public nonisolated(nonsending) func update(
            _ payload: some Collection<UInt8>, headers: Headers = [:], timeout: Duration? = nil
        ) async throws(NotifyError) {
            let message = try OutgoingMessage(
                name: name, payload: payload, object: object, headers: headers, durability: .volatile)
            let updated = AnnouncedContent(message: message, will: content.will, grace: content.grace)
            let slot = ReplySlot<Announced>(timeout: timeout)
            core.update(number, updated, slot)
            _ = try await slot.wait { slot.fail(.cancelledInFlight) }
        }

        /// Replaces the content of the value by a text as UTF-8, as the overload with bytes does.
        public nonisolated(nonsending) func update(
            _ text: some StringProtocol, headers: Headers = [:], timeout: Duration? = nil
        ) async throws(NotifyError) {
            try await update(Array(text.utf8), headers: headers, timeout: timeout)
        }

        /// Clears the value without posting the will. Subscribers get a message whose ``Message/clearedReason`` is
        /// `released`. Has no effect on a value that is not announced any more.
        ///
        /// - Parameters:
        ///   - headers: Headers for that message.
        ///   - timeout: The time limit, which includes the wait for a connection; `nil` for
        ///     ``Configuration/requestTimeout`` once there is a connection.
        /// - Throws: ``NotifyError``; `outcomeUnknown` if the connection breaks before the answer arrives.
        public nonisolated(nonsending) func withdraw(
            headers: Headers = [:], timeout: Duration? = nil
        ) async throws(NotifyError) {
            let request = Withdraw(name: name, object: object ?? "", headers: try headers.encoded())
            let call = FrameCall(request, timeout: timeout)
            guard core.withdraw(number, call) else { return }
            _ = try await core.answer(of: call)
        }

        /// Waits until the value is lost for good, while the program has not withdrawn it: `takenOver` if another
        /// connection has announced the value, or the error with which the daemon has refused to announce it again after
        /// a lost connection. `nil` once it is withdrawn, the client has stopped, or the task is cancelled.
        public nonisolated(nonsending) func failure() async -> NotifyError? { await end.wait() }
    }
}

extension NotificationClient.Message {
    /// Whether the message announces a value that lives as long as the connection of its poster.
    public var isEphemeral: Bool {
        batch.withDelivery(index) { EphemeralHeader.isPresent(in: $0.parts.headers) }
    }
}

// These methods may be called from any thread.
extension ClientCore {
    /// Announces a value. `openWaiter` gets the outcome.
    ///
    /// - Returns: The number of the announcement; 0 if it was refused.
    func announce(
        _ content: AnnouncedContent, takesOver: Bool, _ end: AnnouncementEnd, openWaiter: ReplySlot<Announced>
    ) -> UInt32 {
        guard !Fork.isChild else {
            openWaiter.fail(.forked)
            return 0
        }
        let entry = AnnouncementRegistration(content: content, takesOver: takesOver, end: end, openWaiter: openWaiter)
        return process { $0.announce(entry, now: clock.now, &$1) }
    }

    func update(_ number: UInt32, _ content: AnnouncedContent, _ slot: ReplySlot<Announced>) {
        if Fork.isChild { return slot.fail(.forked) }
        process { $0.update(number, content, slot, now: clock.now, &$1) }
    }

    /// Ends an announcement, so that the client does not announce it again, and makes the call that withdraws the value:
    /// in one step, so that the name is not announced again in between.
    ///
    /// - Returns: Whether it was announced.
    func withdraw(_ number: UInt32, _ call: FrameCall<Withdraw>) -> Bool {
        if Fork.isChild { return false }
        return process { machine, effects in
            guard machine.announcements[number] != nil else { return false }
            machine.finishAnnouncement(number, nil, &effects)
            machine.call(call, now: clock.now, &effects)
            return true
        }
    }

    /// Withdraws a value whose caller has stopped waiting.
    func withdraw(_ number: UInt32) {
        if Fork.isChild { return }
        process { $0.withdrawAnnouncement(number, &$1) }
    }
}

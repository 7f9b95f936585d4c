import NotifyWire

/// Announced values.
extension ClientMachine {
    /// Adds an announcement, and sends it if there is a connection. The entry's `openWaiter` gets the outcome.
    ///
    /// - Returns: The announcement's number; 0 if it was refused.
    mutating func announce(_ entry: AnnouncementRegistration, now: Duration, _ effects: inout Effects) -> UInt32 {
        guard let deadline = beginOpening(entry.openWaiter, now: now, &effects) else { return 0 }
        guard announcedNames.insert(entry.content.name).inserted else {
            if let waiter = entry.openWaiter { effects.answer(waiter, .failure(.announcedAlready)) }
            return 0
        }
        var entry = entry
        entry.phase = .waiting(deadline: deadline)
        let number = announcements.add(entry)
        if connection.isReady {
            sendAnnouncement(number, &effects)
            requestAdded(now: now)
        }
        return number
    }

    /// Sends an announcement, for the first time on this connection. Ends it if the daemon would refuse the frame.
    mutating func sendAnnouncement(_ number: UInt32, _ effects: inout Effects) {
        guard let entry = announcements[number], case .waiting = entry.phase else { return }
        if let error = sizeError(of: entry.content) { return finishAnnouncement(number, error, &effects) }
        announcements.update(number) { $0.phase = .requested }
        send(entry.content, number, takesOver: entry.takesOver, nil)
    }

    /// The error for a value and a will that are together larger than a frame may be; nil if they fit.
    private func sizeError(of content: AnnouncedContent) -> NotifyError? {
        let limit = daemonInfo.maximumPayloadBytes
        let bytes = content.frameBytes
        guard bytes > limit + Limits.frameOverheadBytes else { return nil }
        return NotifyError(
            .payloadTooLarge, "a value and its will take \(bytes) bytes; this daemon accepts about \(limit) for both")
    }

    private mutating func send(
        _ content: AnnouncedContent, _ number: UInt32, takesOver: Bool, _ slot: ReplySlot<Announced>?
    ) {
        let request = requests.append(.announce(number, content, slot))
        content.append(request: request, takesOver: takesOver, to: &outgoing)
    }

    /// Replaces the content of an announcement. `slot` gets the outcome. Without a connection, the content is announced
    /// on the next one.
    mutating func update(
        _ number: UInt32, _ content: AnnouncedContent, _ slot: ReplySlot<Announced>, now: Duration,
        _ effects: inout Effects
    ) {
        guard let entry = announcements[number] else { return effects.answer(slot, .failure(.announcementEnded)) }
        if let error = sizeError(of: content) { return effects.answer(slot, .failure(error)) }
        if case .waiting = entry.phase {
            announcements.update(number) { $0.content = content }
            return effects.answer(slot, .failure(.announcedLater))
        }
        send(content, number, takesOver: false, slot)
        if let timeout = slot.timeout { timeouts.add(.request(slot), until: now + timeout) }
        requestAdded(now: now)
    }

    mutating func announced(_ frame: Announced, _ effects: inout Effects) throws(WireError) {
        guard case .announce(let number, let content, let slot) = try takeRequest(frame.request) else {
            throw .unexpected
        }
        if let slot { effects.answer(slot, .success(frame)) }
        guard let entry = announcements[number] else {
            // The announcement has ended since, for example because another connection had taken the value over.
            if !announcedNames.contains(content.name) { withdraw(content) }
            return
        }
        if let waiter = entry.openWaiter { effects.answer(waiter, .success(frame)) }
        announcements.update(number) { entry in
            entry.content = content
            entry.phase = .live
            entry.request = frame.request
            entry.takesOver = false
            entry.openWaiter = nil
        }
    }

    /// Handles the refusal of an announcement. If it was an update, the earlier content stays.
    mutating func announcementRefused(
        _ number: UInt32, _ slot: ReplySlot<Announced>?, _ error: NotifyError, _ effects: inout Effects
    ) {
        guard let slot else { return finishAnnouncement(number, error, &effects) }
        effects.answer(slot, .failure(error))
    }

    /// Must be called for an update that the daemon may have accepted before the connection was lost.
    mutating func updateLost(
        _ number: UInt32, _ content: AnnouncedContent, _ slot: ReplySlot<Announced>, _ effects: inout Effects
    ) {
        announcements.update(number) { $0.content = content }
        effects.answer(slot, .failure(.outcomeUnknown))
    }

    /// Removes an announcement, so that it is not announced again.
    ///
    /// - Parameter error: The reason; nil if the program has ended the announcement.
    mutating func finishAnnouncement(_ number: UInt32, _ error: NotifyError?, _ effects: inout Effects) {
        guard let entry = announcements.remove(number) else { return }
        announcedNames.remove(entry.content.name)
        if let waiter = entry.openWaiter { effects.answer(waiter, .failure(error ?? .stopped)) }
        let end = entry.end
        effects.answers.append { end.end(error) }
    }

    /// Withdraws a value, because the client stops.
    mutating func withdrawAnnouncement(_ number: UInt32, _ effects: inout Effects) {
        guard let entry = announcements[number] else { return }
        if case .waiting = entry.phase {} else { withdraw(entry.content) }
        finishAnnouncement(number, nil, &effects)
    }

    private mutating func withdraw(_ content: AnnouncedContent) {
        var call = FrameCall(Withdraw(name: content.message.name, object: content.message.object ?? ""))
        // No caller waits, so it is not repeated on another connection, on which the name may be announced again.
        call.slot.fail(.stopped)
        call.write(request: requests.nextRequest, to: &outgoing)
        _ = requests.append(.call(call))
    }

    /// Must be called for each announcement when the connection was lost.
    mutating func announcementDisconnected(_ number: UInt32, now: Duration) {
        announcements.update(number) { entry in
            switch entry.phase {
            case .requested where entry.openWaiter != nil:
                entry.phase = .waiting(deadline: now + settings.connectionWait)
            case .requested, .live: entry.phase = .waiting(deadline: nil)
            case .waiting: break
            }
            entry.request = 0
        }
    }
}

extension NotifyError {
    static let announcementEnded = NotifyError(.invalidArgument, "the value is not announced any more")
    static let announcedAlready = NotifyError(
        .valueInUse, "this client announces the value already: update it, or withdraw it first", detail: 0)
    static let announcedLater = NotifyError(
        .notConnected, "there is no connection; the value is announced when the client has connected again")
}

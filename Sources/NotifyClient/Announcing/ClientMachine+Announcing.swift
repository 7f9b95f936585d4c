import NotifyWire

/// Announced values.
extension ClientMachine {
    /// Adds an announcement, and sends it if there is a connection. The entry's `openWaiter` gets the outcome.
    ///
    /// - Returns: The announcement's number; 0 if it was refused.
    mutating func announce(_ entry: AnnouncementTable.Entry, now: Duration, _ effects: inout Effects) -> UInt32 {
        if let refusal {
            if let waiter = entry.openWaiter { effects.answer(waiter, .failure(refusal)) }
            return 0
        }
        var entry = entry
        entry.phase = .waiting(deadline: now + settings.connectionWait)
        let number = announcements.add(entry)
        if let waiter = entry.openWaiter, let timeout = waiter.timeout {
            timeouts.add(.request(waiter), until: now + timeout)
        }
        if connection.isReady {
            sendAnnouncement(number)
            requestAdded(now: now)
        }
        return number
    }

    /// Sends an announcement, for the first time on this connection.
    mutating func sendAnnouncement(_ number: UInt32) {
        guard let entry = announcements[number], case .waiting = entry.phase else { return }
        announcements[number]?.phase = .requested
        send(entry.content, number, takesOver: entry.takesOver, nil)
    }

    private mutating func send(
        _ content: AnnouncedContent, _ number: UInt32, takesOver: Bool, _ slot: ReplySlot<Announced>?
    ) {
        let previous = announcements[number]?.content ?? content
        let request = requests.append(.announce(number, previous: previous, slot))
        content.append(request: request, takesOver: takesOver, to: &outgoing)
    }

    /// Replaces the content of an announcement. `slot` gets the outcome. Without a connection, the content is announced
    /// on the next one.
    mutating func update(
        _ number: UInt32, _ content: AnnouncedContent, _ slot: ReplySlot<Announced>, now: Duration,
        _ effects: inout Effects
    ) {
        guard let entry = announcements[number] else { return effects.answer(slot, .failure(.announcementEnded)) }
        if case .waiting = entry.phase {
            announcements[number]?.content = content
            return effects.answer(slot, .failure(.announcedLater))
        }
        send(content, number, takesOver: false, slot)
        announcements[number]?.content = content
        if let timeout = slot.timeout { timeouts.add(.request(slot), until: now + timeout) }
        requestAdded(now: now)
    }

    mutating func announced(_ frame: Announced, _ effects: inout Effects) throws(WireError) {
        guard case .announce(let number, _, let slot) = try takeRequest(frame.request) else { throw .unexpected }
        if let slot { effects.answer(slot, .success(frame)) }
        guard let entry = announcements[number] else { return }
        if let waiter = entry.openWaiter { effects.answer(waiter, .success(frame)) }
        announcements[number]?.phase = .live
        announcements[number]?.request = frame.request
        announcements[number]?.takesOver = false
        announcements[number]?.openWaiter = nil
    }

    /// Handles the refusal of an announcement. If it was an update, the earlier content stays.
    mutating func announcementRefused(
        _ number: UInt32, _ previous: AnnouncedContent, _ slot: ReplySlot<Announced>?, _ error: NotifyError,
        _ effects: inout Effects
    ) {
        guard let slot else { return finishAnnouncement(number, error, &effects) }
        announcements[number]?.content = previous
        effects.answer(slot, .failure(error))
    }

    /// Removes an announcement, so that it is not announced again.
    ///
    /// - Parameter error: The reason; nil if the program has ended the announcement.
    mutating func finishAnnouncement(_ number: UInt32, _ error: NotifyError?, _ effects: inout Effects) {
        guard let entry = announcements.remove(number) else { return }
        if let waiter = entry.openWaiter { effects.answer(waiter, .failure(error ?? .stopped)) }
        let end = entry.end
        effects.answers.append { end.end(error) }
    }

    /// Withdraws a value, because the client stops.
    mutating func withdrawAnnouncement(_ number: UInt32, _ effects: inout Effects) {
        guard let entry = announcements[number] else { return }
        if case .waiting = entry.phase {
        } else {
            var call = FrameCall(Withdraw(name: entry.content.message.name, object: entry.content.message.object ?? ""))
            call.write(request: requests.nextRequest, to: &outgoing)
            _ = requests.append(.call(call))
        }
        finishAnnouncement(number, nil, &effects)
    }

    /// Must be called for each announcement when the connection was lost.
    mutating func announcementDisconnected(_ number: UInt32, now: Duration) {
        guard let entry = announcements[number] else { return }
        switch entry.phase {
        case .requested where entry.openWaiter != nil:
            announcements[number]?.phase = .waiting(deadline: now + settings.connectionWait)
        case .requested, .live: announcements[number]?.phase = .waiting(deadline: nil)
        case .waiting: break
        }
        announcements[number]?.request = 0
    }
}

extension NotifyError {
    static let announcementEnded = NotifyError(.invalidArgument, "the value is not announced any more")
    static let announcedLater = NotifyError(
        .notConnected, "there is no connection; the value is announced when the client has connected again")
}

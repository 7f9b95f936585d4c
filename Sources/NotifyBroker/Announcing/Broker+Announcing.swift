import NotifyCenter
import NotifyLog
import NotifyWire

/// Values that live as long as a connection.
extension Broker {
    /// Posts a message, never stored, and keeps it as the value of its name and object until the connection ends.
    mutating func announceReceived(
        _ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        let request = try Announce(frame)
        let post = Post(request: request.request, durability: .volatile, wantsReceipt: false, parts: request.parts)
        do throws(WireError) {
            try announce(request, as: post, from: slot, now: now)
        } catch {
            if !recorder.monitors.isEmpty { recordRefused(post, from: slot, error, now: now) }
            throw error
        }
    }

    private mutating func announce(
        _ request: Announce, as post: Post, from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.subscribe)
        let admission = try admit(post, from: slot)
        try checkContent(of: request)
        let name = ValueName(name: post.parts.name, object: post.parts.object)
        endIfDue(name.key, now: now)
        if let holder = holder(of: name.key, for: request, slot) {
            return refuse(post, becauseOf: holder, slot, now: now)
        }
        let charge = try chargeAnnouncement(request, name.key, slot)
        do throws(WireError) {
            try publish(request, as: post, admission, name, charge, from: slot, now: now)
        } catch {
            release(charge)
            throw error
        }
    }

    /// Refuses a message whose name and object are in use.
    mutating func refuse(_ post: Post, becauseOf holder: ValueHolder, _ slot: ConnectionSlot, now: BrokerTime) {
        if !recorder.monitors.isEmpty { recordRefused(post, from: slot, holder.error, now: now) }
        refuse(slot, request: post.request, holder.error, detail: UInt64(holder.pid))
    }

    private func checkContent(of request: Announce) throws(WireError) {
        guard Duration.milliseconds(Int64(request.graceMilliseconds)) <= Limits.maximumGrace else {
            throw WireError(.invalidArgument, "the grace period is at most \(Limits.maximumGrace.text)")
        }
        guard let will = request.will else { return }
        try checkPayload(will.payload.count, of: "a will")
        try HeaderList.validate(will.headers)
    }

    /// What holds the name and object; nil if the connection may announce a value.
    private func holder(of key: ValueKey, for request: Announce, _ slot: ConnectionSlot) -> ValueHolder? {
        // A change that waits for its commit counts, too: if the commit of a clear failed, both values would be there.
        guard !values.isUncertain(key), values.current(key).sequence == 0 else { return .stored }
        guard let held = announcements[key], !held.belongs(to: connections[slot]) else { return nil }
        let isSameUser = held.poster.uid == connections[slot].uid
        let mayTakeOver = request.takesOver && (isSameUser || access.mayManageEverything(connections[slot].identity))
        return mayTakeOver ? nil : held.holder
    }

    /// Charges the user for an announced value.
    private mutating func chargeAnnouncement(
        _ request: Announce, _ key: ValueKey, _ slot: ConnectionSlot
    ) throws(WireError) -> Charge {
        let (id, uid) = (connections[slot].id, connections[slot].uid)
        let old = announcements[key]
        let limit = configuration.subscriptionsPerConnection
        guard old?.connection == id || announcements.count(of: id) < limit else {
            throw WireError(
                .limitReached,
                "this connection has announced \(limit) values, which is the limit "
                    + "(limits.per_connection.subscriptions)")
        }
        try ledger.check(.values, adding: old?.charge.uid == uid ? 0 : 1, uid: uid)
        let charge = try ledger.charge(
            Announcement.byteCount(request.parts, request.will), as: .announcementBytes, to: uid)
        ledger.change(.values, by: 1, uid: uid)
        return charge
    }

    private mutating func release(_ charge: Charge) {
        ledger.release(charge)
        ledger.change(.values, by: -1, uid: charge.uid)
    }

    private mutating func publish(
        _ request: Announce, as post: Post, _ admission: Admission, _ name: ValueName, _ charge: Charge,
        from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        let old = announcements[name.key]
        let connection = connections[slot]
        let poster = Poster(uid: connection.uid, gid: connection.gid, pid: connection.pid, connection: slot)
        let isTakeover = old.map { !$0.belongs(to: connection) } ?? false
        if let old, isTakeover { try publish(clearOf: old, .takenOver, by: poster, now: now) }
        let headers = EphemeralHeader.encoded(after: post.parts.headers)
        let result = headers.withUnsafeBytes { headers in
            Result { () throws(WireError) in
                var parts = post.parts
                parts.headers = headers
                let published = try publishVolatile(
                    parts, admission, request: request.request, from: poster, now: now)
                scheduler.spend(admission.resolution.count &* FairScheduler.Cost.delivery)
                pace(slot, subscribers: admission.volatileCount, bytes: parts.payload.count)
                return published
            }
        }
        let (receipt, message) = try result.get()
        statistics.messagesIn += 1
        access.retain(connection.identity)
        let replaced = announcements.insert(
            Announcement(
                key: name.key, nameKey: name.nameKey, number: old?.number ?? announcements.nextNumber,
                sequence: receipt.sequence,
                request: request.request, owner: connection.identity,
                poster: Poster(uid: poster.uid, gid: poster.gid, pid: poster.pid, connection: nil),
                instance: connection.instance, connectionNumber: connection.number,
                presence: .connected(connection.id),
                grace: .milliseconds(Int64(request.graceMilliseconds)),
                will: request.will.map(Announcement.Will.init), message: message, charge: charge))
        if let replaced { release(replaced) }
        if let old, isTakeover { reportTakeover(of: old, by: poster) }
        noteChange(message)
        answer(
            slot,
            Announced(request: request.request, sequence: receipt.sequence, subscribers: receipt.subscribers))
    }

    /// Reports to the connection whose value was taken over that it has lost the value.
    private mutating func reportTakeover(of old: Announcement, by taker: Poster) {
        guard let connection = old.connection else { return }
        answer(
            connection.slot,
            ErrorFrame(
                request: old.request, code: .takenOver, detail: UInt64(taker.pid),
                message: "the process \(taker.pid) of \(taker.uid.userTitle) has announced the value"))
    }

    /// Releases what an announced value holds, after its removal.
    mutating func release(_ announcement: Announcement) {
        release(announcement.charge)
        releaseIdentity(announcement.owner)
    }

    // MARK: Withdrawing

    /// Clears a value that the connection has announced.
    mutating func withdraw(_ request: Withdraw, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        try request.headers.withUnsafeBytes { headers in
            Result { () throws(WireError) in try HeaderList.validate(headers) }
        }.get()
        let key = ValueKey(name: request.name, object: request.object)
        guard let held = announcements[key], held.belongs(to: connections[slot])
        else {
            return answer(slot, ValuesCleared(request: request.request, count: 0, sequence: 0))
        }
        let sequence = try end(held, .released, headers: request.headers, now: now)
        answer(slot, ValuesCleared(request: request.request, count: 1, sequence: sequence))
    }

    // MARK: Stored values

    /// Who has announced the value of a name and object; nil if there is none.
    mutating func announcer(of key: ValueKey, now: BrokerTime) -> ValueHolder? {
        guard announcements.count > 0 else { return nil }
        endIfDue(key, now: now)
        return announcements[key]?.holder
    }

    /// Who has announced a value of a name; nil if there is none.
    ///
    /// - Parameter object: The object; nil for any.
    mutating func announcer(of name: String, object: String?, now: BrokerTime) -> ValueHolder? {
        guard announcements.count > 0 else { return nil }
        if let object { return announcer(of: ValueKey(name: name, object: object), now: now) }
        let nameKey = ValueKey(name: name, object: "")
        while let found = announcements.value(ofName: nameKey) {
            if let holder = announcer(of: found.key, now: now) { return holder }
        }
        return nil
    }
}

extension ValueKey {
    init(name: String, object: String) {
        let (name, object) = (Array(name.utf8), Array(object.utf8))
        self = name.withUnsafeBytes { name in object.withUnsafeBytes { ValueKey(name: name, object: $0) } }
    }
}

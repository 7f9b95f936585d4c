import NotifyCenter
import NotifyLog
import NotifyWire

/// The end of announced values.
extension Broker {
    /// The maximum number of values that are cleared in one tick, and of deliveries after which no further one is.
    private static let endedPerTick = 64
    private static let deliveriesPerTick = 65_536

    /// Must be called for a connection that ends. During a drain, no value is left.
    mutating func endAnnouncements(of slot: ConnectionSlot, now: BrokerTime) {
        guard announcements.count > 0 else { return }
        let connection = connections[slot]
        if announcements.connectionEnded(connection.id, uid: connection.uid, now: now.monotonic) {
            actions.append(.scheduleTick)
        }
    }

    /// Removes all announced values without messages, because the daemon stops: their clients announce them again.
    mutating func removeAnnouncements() {
        for announcement in announcements.removeAll() { release(announcement) }
    }

    /// Clears values whose connection has ended.
    mutating func continueAnnouncements(now: BrokerTime) {
        announcements.endDeliveries = 0
        for _ in 0..<Self.endedPerTick where announcements.endDeliveries < Self.deliveriesPerTick {
            guard isReady else { return }
            guard let ended = announcements.nextEnding() else { break }
            let pending = commits.pending.bytes
            disconnected(ended, now: now)
            if commits.pending.bytes != pending { chargePending(since: pending, to: ended.poster.uid) }
        }
        if announcements.hasEndings { actions.append(.scheduleTick) }
    }

    /// Clears the value of a key now if its connection has ended, so that the name is free. The pending bytes of its will
    /// are charged to the user whose request is being processed.
    mutating func endIfDue(_ key: ValueKey, now: BrokerTime) {
        announcements.endIfConnectionEnded(key)
        guard isReady, let held = announcements[key], held.presence == .ending else { return }
        disconnected(held, now: now)
    }

    private mutating func disconnected(_ ended: Announcement, now: BrokerTime) {
        // For the rights of the will.
        access.retain(ended.owner)
        defer { releaseIdentity(ended.owner) }
        guard (try? end(ended, .disconnected, headers: [], now: now)) != nil else { return }
        postWill(of: ended, now: now)
    }

    /// Clears a value.
    ///
    /// - Returns: The sequence of the message that clears it.
    /// - Throws: `storageFailed` if no sequence is available.
    @discardableResult
    mutating func end(
        _ held: Announcement, _ reason: ClearedHeader.Reason, headers: [UInt8], now: BrokerTime
    ) throws(WireError) -> UInt64 {
        let message = try publish(clearOf: held, reason, headers: headers, by: held.poster, now: now)
        let sequence = message.entries[0].sequence
        announcements.clear(held.key, AnnouncementMark(sequence: sequence, message: message))
        release(held)
        noteChange(message)
        return sequence
    }

    /// Posts the message that clears a value, which is never stored.
    @discardableResult
    mutating func publish(
        clearOf held: Announcement, _ reason: ClearedHeader.Reason, headers: [UInt8] = [], by poster: Poster,
        now: BrokerTime
    ) throws(WireError) -> LogBlock {
        let headers = headers.withUnsafeBytes { ClearedHeader.encoded(reason, after: $0) }
        let result = held.message.withFirst { message in
            headers.withUnsafeBytes { headers in
                Result { () throws(WireError) in
                    var parts = message.parts
                    parts.headers = headers
                    parts.payload = UnsafeRawBufferPointer(start: nil, count: 0)
                    let admission = Admission(resolve(parts))
                    announcements.endDeliveries += admission.resolution.count
                    scheduler.charge(admission.resolution.count * FairScheduler.Cost.delivery, to: poster.uid)
                    return try publishVolatile(parts, admission, from: poster, now: now).1
                }
            }
        }
        return try result.get()
    }

    /// Posts the will of an announced value, with the rights of its owner. It is stored if a durable subscription
    /// matches. If it can't be stored, only live subscribers get it.
    private mutating func postWill(of ended: Announcement, now: BrokerTime) {
        guard let will = ended.will else { return }
        let poster = ended.poster
        ended.message.withFirst { message in
            will.headers.withUnsafeBytes { headers in
                will.payload.withUnsafeBytes { payload in
                    var parts = message.parts
                    (parts.headers, parts.payload) = (headers, payload)
                    guard (try? access.checkPost(parts.name, ended.owner)) != nil else { return }
                    var admission = Admission(resolve(parts))
                    if admission.durableCount > 0 || !durables.areComplete {
                        admission.account = try? checkStorage(of: parts, uid: poster.uid, ended.owner)
                        if admission.account == nil { statistics.unstoredWills += 1 }
                    }
                    announcements.endDeliveries += admission.resolution.count
                    scheduler.charge(admission.resolution.count * FairScheduler.Cost.delivery, to: poster.uid)
                    guard (try? publish(parts, admission, from: poster, now: now)) != nil else { return }
                    if admission.account != nil { commits.append(nil, then: .will) }
                }
            }
        }
    }
}

import NotifyLog
import NotifyWire

/// Posts of the daemon itself.
extension Broker {
    /// Publishes a message in the name of the daemon. If it can't be stored, its volatile subscribers still receive it.
    mutating func publish(_ parts: MessageParts, now: BrokerTime) {
        let poster = Poster(daemon.process)
        var admission = Admission(resolve(parts))
        if admission.durableCount > 0, (try? commits.checkRoom()) != nil {
            admission.account = ledger.stored.account(of: poster.uid)
        }
        _ = try? publish(parts, admission, from: poster, now: now)
    }

    /// Publishes a dead letter. The caller must have checked that there is room for it.
    ///
    /// - Parameter owner: The owner of the durable subscription whose message has failed. The dead letter counts as a
    ///   stored message of this user.
    /// - Returns: Whether the dead letter is in the next batch.
    mutating func publish(deadLetter parts: MessageParts, of owner: Identity, now: BrokerTime) -> Bool {
        let poster = Poster(Peer(identity: owner, pid: daemon.process.pid))
        var admission = Admission(resolve(parts))
        admission.account = ledger.stored.account(of: poster.uid)
        admission.isDeadLetter = true
        guard (try? publish(parts, admission, from: poster, now: now)) != nil else { return false }
        ledger.noteStored(deadLetter: parts.name, uid: poster.uid, in: commits.nextBatchID)
        return true
    }
}

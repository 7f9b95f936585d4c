import NotifyCenter
import NotifyWire

/// Messages that clear values.
extension Broker {
    /// Posts the message that clears the value of a name and object, in the name of a client. The rights must have been
    /// checked.
    ///
    /// - Returns: The sequence of the message.
    /// - Throws: As for a post to be stored.
    mutating func publish(
        clearOf name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer, from slot: ConnectionSlot,
        now: BrokerTime
    ) throws(WireError) -> UInt64 {
        let poster = Poster(
            uid: connections[slot].uid, gid: connections[slot].gid, pid: connections[slot].pid, connection: slot)
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        let result = clearedHeaders.withUnsafeBytes { headers in
            Result { () throws(WireError) in
                let parts = MessageParts(
                    name: name, object: object, messageID: nothing, headers: headers, payload: nothing)
                var admission = Admission(resolve(parts))
                admission.account = try checkStorage(of: parts, wantsReceipt: false, from: slot)
                scheduler.charge(admission.resolution.count * FairScheduler.Cost.delivery, to: poster.uid)
                return try publish(parts, admission, from: poster, now: now).sequence
            }
        }
        let sequence = try result.get()
        statistics.messagesIn += 1
        return sequence
    }
}

private let clearedHeaders = ClearedHeader.encoded(.cleared)

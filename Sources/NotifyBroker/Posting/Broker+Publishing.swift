import NotifyLog
import NotifyWire

/// Publishing, the same for messages of clients and of the daemon.
extension Broker {
    /// Stamps an admitted message and passes it to its volatile subscribers in this tick. A message to be stored joins
    /// the next batch, and its durable subscribers receive it after the commit.
    ///
    /// - Throws: `storageFailed` if no sequence is available. The message is not published then.
    @inline(__always)
    mutating func publish(
        _ parts: MessageParts, _ admission: Admission, request: UInt64 = 0, from poster: Poster, now: BrokerTime
    ) throws(WireError) -> Receipt {
        let volatileCount = admission.volatileCount
        let stamp = Stamp(
            sequence: try commits.takeSequence(), timeMicroseconds: now.wallMicroseconds, uid: poster.uid,
            gid: poster.gid, pid: poster.pid)
        var receipt = Receipt(
            request: request, sequence: stamp.sequence, subscribers: UInt32(volatileCount), stored: 0,
            durability: .volatile)
        if let account = admission.account {
            if commits.isOpenBlockFull { egress.openBlockEnded(commits.sealOpenBlock()) }
            let place = commits.append(stamp, parts, admission.resolution)
            ledger.stored.add(place.end - place.start, to: account, isDeadLetter: admission.isDeadLetter)
            if volatileCount > 0 {
                egress.fanOut(
                    admission.resolution, count: volatileCount, egress.rangeInOpenBlock(place),
                    sequence: stamp.sequence)
            }
            receipt.stored = UInt32(admission.durableCount)
            receipt.durability = admission.isSynced ? .synced : .stored
        } else if volatileCount > 0 {
            let place = egress.encode(stamp, parts)
            egress.fanOut(admission.resolution, count: volatileCount, place, sequence: stamp.sequence)
        }
        if recorder.isRecording { recordAccepted(parts, stamp, receipt, from: poster.connection, now: now) }
        return receipt
    }

    /// Publishes a message that is never stored.
    ///
    /// - Returns: The receipt, and the stamped message.
    /// - Throws: `storageFailed` if no sequence is available.
    mutating func publishVolatile(
        _ parts: MessageParts, _ admission: Admission, request: UInt64 = 0, from poster: Poster, now: BrokerTime
    ) throws(WireError) -> (Receipt, LogBlock) {
        let receipt = try publish(parts, admission, request: request, from: poster, now: now)
        let stamp = Stamp(
            sequence: receipt.sequence, timeMicroseconds: now.wallMicroseconds, uid: poster.uid, gid: poster.gid,
            pid: poster.pid)
        return (receipt, LogBlock(stamp, parts))
    }
}

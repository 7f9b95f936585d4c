import NotifyCenter
import NotifyWire

/// The posts of clients.
extension Broker {
    /// Processes a post. Volatile subscribers receive the message in this tick, durable subscribers after the commit.
    /// The receipt of a stored post is sent after the commit. A refused post is answered with an error.
    mutating func postReceived(_ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime) {
        do throws(WireError) {
            let post = try Post(frame)
            if logs(.trace) { logPost(post, from: slot) }
            try connections.requestReceived(post.request, from: slot)
            try accept(post, admit(post, from: slot), from: slot, now: now)
        } catch {
            if !recorder.monitors.isEmpty, let post = try? Post(frame) {
                recordRefused(post, from: slot, error, now: now)
            }
            reject(slot, request: Post.request(of: frame), error, now: now)
        }
    }

    /// Publishes an admitted post, and answers it or makes it wait for the commit.
    @inline(__always)
    @discardableResult
    mutating func accept(
        _ post: Post, _ admission: Admission, from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> Receipt {
        let poster = Poster(
            uid: connections[slot].uid, gid: connections[slot].gid, pid: connections[slot].pid, connection: slot)
        let receipt = try publish(post.parts, admission, request: post.request, from: poster, now: now)
        statistics.messagesIn += 1
        scheduler.spend(admission.resolution.count &* FairScheduler.Cost.delivery)
        pace(slot, subscribers: admission.volatileCount, bytes: post.parts.payload.count)
        if admission.account != nil {
            awaitCommit(receipt, of: post, from: slot)
        } else if post.wantsReceipt {
            answer(slot, receipt: receipt)
        }
        return receipt
    }

    private mutating func awaitCommit(_ receipt: Receipt, of post: Post, from slot: ConnectionSlot) {
        if post.wantsReceipt { connections[slot].receiptRequested() }
        let waiter = PendingLog.Waiter(
            connection: connections[slot].id, wantsReceipt: post.wantsReceipt, receipt: receipt)
        commits.awaitCommit(of: waiter, isSynced: receipt.durability == .synced)
        pauseIfLogBehind(slot)
    }

    /// Pauses a connection until the next outcome of a batch, if too many bytes wait for the store.
    @inline(__always)
    mutating func pauseIfLogBehind(_ slot: ConnectionSlot) {
        if commits.isBehind, commits.pauseUntilOutcome(slot) { pause(slot, .logBehind) }
    }
}

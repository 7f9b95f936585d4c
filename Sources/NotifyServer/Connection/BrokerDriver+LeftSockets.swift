import NotifyBroker

/// The sockets of ended connections whose peers have unread bytes.
extension BrokerDriver {
    /// Charges the user of a connection for the bytes that the peer has not read. Called before the daemon closes the
    /// connection.
    func leave(_ descriptor: CInt, of uid: UInt32) {
        guard !isEnding, let socket = leftSockets.keep(descriptor, of: uid, now: now.monotonic) else { return }
        core.broker.socketLeft(uid: uid, bytes: socket.bytes)
        scheduleTick()
    }

    /// Ends the charge for sockets whose peers have read nearly all or have closed their ends.
    ///
    /// - Returns: Whether sockets remain to be examined in the next turn.
    func releaseLeftSockets() -> Bool {
        guard leftSockets.deadline != nil else { return false }
        let now = now.monotonic
        for socket in leftSockets.takeReleased(now: now) {
            core.broker.socketReleased(uid: socket.uid, bytes: socket.bytes)
        }
        guard let deadline = leftSockets.deadline else { return false }
        if deadline > now { wake(at: deadline) }
        return deadline <= now
    }
}

import NotifyWire

/// Connections whose peer has shut down its sending direction. The received requests are answered, and then the
/// connection ends.
extension Broker {
    /// Must be called when the peer has shut down its sending direction, and all received bytes were passed to
    /// `bytesReceived`. An incomplete frame is ignored.
    ///
    /// The host reads such a socket to its end, even while reading is paused. So the limits for waiting bytes are
    /// checked here.
    ///
    /// - Returns: Whether the host must discard the bytes that wait for processing, because the connection is being
    ///   closed.
    @discardableResult
    package mutating func inputEnded(_ id: ConnectionID, now: BrokerTime) -> Bool {
        guard connections.contains(id) else { return true }
        connections[id.slot].isInputEnded = true
        if connections[id.slot].receivedBytes > 0 {
            let uid = connections[id.slot].uid
            do throws(WireError) {
                try ledger.check(.receivedBytes, uid: uid)
                try ledger.checkRoom(for: 0, uid: uid)
            } catch {
                fail(id.slot, error, now: now)
            }
        }
        // `settle` visits touched connections, and closes this one if everything is answered already.
        egress.touch(id.slot)
        return connections[id.slot].session.isClosing
    }

    /// The number of received bytes that wait for the connection's turn.
    package func waitingBytes(of id: ConnectionID) -> Int {
        connections.contains(id) ? connections[id.slot].receivedBytes : 0
    }

    /// Whether a peer that sends nothing more waits for nothing more. Must be evaluated after every answer.
    func isAllAnswered(_ slot: ConnectionSlot) -> Bool {
        let connection = connections[slot]
        guard connection.turn == .none, connection.postsAwaitingReceipts == 0,
            connection.pendingAnswers == 0, connection.unansweredAttaches.isEmpty, connection.historyReads == 0,
            connection.valueReads == 0, connection.asks.isEmpty, connection.listing == nil,
            !connection.pauses.contains(.awaitingPage)
        else { return false }
        return !storeRequests.hasRequest(of: connection.id, uid: connection.uid)
    }
}

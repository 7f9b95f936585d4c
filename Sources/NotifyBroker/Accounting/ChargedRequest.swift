import NotifyWire

/// A request of a client that waits for a page of the log. Until then, its memory is charged to the user.
protocol ChargedRequest {
    var connection: ConnectionID { get }
    /// The memory of the request, in bytes.
    var byteCount: Int { get }
}

extension Broker {
    /// Charges the memory of a request to its user.
    ///
    /// - Throws: `limitReached` if the user has no room.
    mutating func charge(_ request: some ChargedRequest) throws(WireError) {
        let uid = connections[request.connection.slot].uid
        try ledger.checkRoom(for: request.byteCount, uid: uid)
        ledger.change(.pendingBytes, by: request.byteCount, uid: uid)
    }

    /// Ends the charge of a request.
    mutating func uncharge(_ request: some ChargedRequest) {
        ledger.change(.pendingBytes, by: -request.byteCount, uid: connections[request.connection.slot].uid)
    }
}

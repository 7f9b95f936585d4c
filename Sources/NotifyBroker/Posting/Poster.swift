import NotifyLog

/// The poster of a message, as the message's stamp names it.
struct Poster {
    let uid: UInt32
    let gid: UInt32
    let pid: UInt32
    /// The connection of a client; nil for a message of the daemon.
    let connection: ConnectionSlot?

}

extension Poster {
    /// The poster of a message of the daemon.
    init(_ peer: Peer) {
        self.init(uid: peer.identity.uid, gid: peer.identity.gid, pid: peer.pid, connection: nil)
    }
}

package import NotifyLog

/// The process at the other end of a connection, as the kernel reports it.
package struct Peer: Equatable, Sendable {
    package var identity: Identity
    package var pid: UInt32

    package init(identity: Identity, pid: UInt32) {
        self.identity = identity
        self.pid = pid
    }
}

/// A trace request whose message is not yet read from the log. Each message is read by a page request of its own.
///
/// Reading from a connection is paused while its trace waits, so a connection has at most one trace.
struct PendingTrace: ClientRead {
    let connection: ConnectionID
    let uid: UInt32
    let request: UInt64
    let sequence: UInt64

    var mayWait: Bool { false }
}

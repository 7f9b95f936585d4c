/// A server: a connection that answers the requests of a service.
struct Server {
    let connection: ConnectionSlot
    let uid: UInt32
    /// The number by which the client refers to the server.
    let number: UInt32
    let service: Int32
    /// The maximum number of calls that the server holds at the same time.
    let concurrency: Int
    /// The calls that the server holds.
    var calls: Set<CallID> = []
    /// Rises with each call handed to a server of any service, so that servers with equal room take turns.
    var lastTurn: UInt64 = 0
    /// Whether the server has ended, and only responds to the calls that it holds.
    var isLeaving = false

    var room: Int { isLeaving ? 0 : concurrency - calls.count }
}

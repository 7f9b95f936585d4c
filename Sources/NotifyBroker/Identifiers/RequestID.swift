/// A request of a client: the connection and the number by which its answer refers to it.
struct RequestID: Equatable {
    let connection: ConnectionID
    let number: UInt64
}

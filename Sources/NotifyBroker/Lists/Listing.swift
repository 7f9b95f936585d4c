/// A request that is answered entry by entry, such as a request for a list, for monitored posts, or for a trace. Later
/// requests of the connection wait until the answer is complete.
struct Listing {
    let request: UInt64
    var source: ListSource
    /// The memory that the user is charged for the list, in bytes.
    var byteCount = 0
}

import NotifyLog

/// A request for stored messages that is not answered yet.
struct HistoryRead: ClientRead {
    let connection: ConnectionID
    let request: UInt64
    let charge: Charge
    let filter: SubscriptionFilter
    /// The sequence after which to read.
    var after: UInt64
    /// The last sequence to read.
    let last: UInt64
    let maximumMessages: Int
    /// Whether to read from the end of the range.
    let isDescending: Bool
    let wait: Wait
    /// The mark after which the page reports deletions, see `PageRequest`. If the client has no mark, this becomes the
    /// mark of the first page that is read for the request: the client has missed no earlier deletions.
    var deletionMark: UInt64
    /// The sequence up to which no message was waiting to be stored when the page was requested.
    var settledThrough: UInt64 = 0
    /// The end of the log when the page was requested.
    var persistedThrough: UInt64 = 0
    /// The generation of the policy under which the page was requested.
    var rights: UInt32 = 0

    /// The event that the request waits for at the end of the log.
    enum Wait {
        case none
        /// A message in the range.
        case message
        /// The messages in the range that are being stored.
        case pending
    }

    var uid: UInt32 { charge.uid }
    var mayWait: Bool { wait != .none }
}

import NotifyLog
import NotifyWire

/// A request that reads values, or clears those that match, and that is not answered yet.
struct ValueRead: ClientRead {
    /// What happens to the values that are read.
    enum Use {
        case answer(ReadValues.Order)
        /// Each value is cleared.
        case clear(Clearing)
    }

    /// The progress of a request that clears values.
    struct Clearing {
        /// The number of values cleared in earlier pages, and the sequence of the last message that clears one.
        var count: UInt64 = 0
        var sequence: UInt64 = 0
        /// Whether every value was read.
        var isAtEnd = false
    }

    let connection: ConnectionID
    let request: UInt64
    let charge: Charge
    let filter: SubscriptionFilter
    var use: Use
    let maximumMessages: Int
    /// The number or sequence after which to read, and the last one to read.
    var after: UInt64
    var through: UInt64
    /// The sequence after which to read changes of announced values, and the run of the daemon in which it is.
    var announcedAfter: UInt64 = 0
    var run: UInt64 = 0
    /// The epoch of the positions.
    let epoch: UInt64
    /// The highest committed sequence when the page was requested.
    var persistedThrough: UInt64 = 0
    /// The generation of the policy under which the page was requested.
    var rights: UInt32 = 0

    var uid: UInt32 { charge.uid }
    var mayWait: Bool { if case .answer(.changes(_, _, isWaiting: true)) = use { true } else { false } }
}

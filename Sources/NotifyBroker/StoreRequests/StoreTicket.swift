/// The part of the broker that has asked the store for work. The host returns the ticket with each answer.
package enum StoreTicket: Equatable, Sendable {
    /// The current request of a kind.
    case request(StoreRequestKind)
    /// The backup with a number. An answer may arrive after the backup has ended.
    case backup(UInt64)
    /// The lists and warnings that wait for counts.
    case backlogs
}

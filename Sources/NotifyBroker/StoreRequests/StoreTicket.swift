/// Who has asked the store for work. The host returns the ticket with each answer.
package enum StoreTicket: Equatable, Sendable {
    /// The request of a kind that the store works on.
    case request(StoreRequestKind)
    /// The backup with a number. An answer may arrive after its end.
    case backup(UInt64)
    /// The lists and warnings that wait for counts.
    case backlogs
}

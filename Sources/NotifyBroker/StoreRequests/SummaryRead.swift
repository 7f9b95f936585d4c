import NotifyLog
import NotifyWire

/// A request for the number and bytes of the stored messages of each name.
struct SummaryRead: StoreTask {
    static let kind = StoreRequestKind.summary
    static let refusal = "not summed up"
    static let holdsConnection = true
    static let dependsOnRights = true

    let filter: SubscriptionFilter
    /// The first and the last sequence of the range.
    let first: UInt64
    let last: UInt64
    let maximumNames: Int

    var byteCount: Int { 256 + filter.byteCount }

    func begin(_ request: RequestID, in broker: inout Broker, now: BrokerTime) -> StoreTaskStart {
        let access = broker.access.readAccess(of: broker.connections[request.connection.slot].identity)
        return .asks(
            .summarize(
                SummaryRequest(filter: filter, access: access, first: first, last: last, maximumNames: maximumNames)))
    }

    func answered(
        _ answer: StoreAnswer, for request: RequestID?, in broker: inout Broker, now: BrokerTime
    ) -> StoreTaskProgress {
        guard let request else { return .ended }
        do throws(WireError) {
            switch answer {
            case .summarized(let summary): try broker.list(summary, for: request)
            case .failed(let failure): throw failure.readError
            default: unexpected(answer)
            }
        } catch {
            broker.reject(request.connection.slot, request: request.number, error, now: now)
        }
        return .ended
    }
}

/// The number and bytes of the stored messages of each name.
extension Broker {
    /// The memory of a name in an answer, in bytes, without the name itself.
    private static let entryBytes = 96

    /// Makes the request wait until the store has summed up the messages.
    mutating func summarize(_ summarize: SummarizeLog, _ slot: ConnectionSlot) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.search + summarize.patterns.count * FairScheduler.Cost.pattern)
        let read = SummaryRead(
            filter: try filter(patterns: summarize.patterns, object: "", for: connections[slot].identity),
            first: summarize.first, last: summarize.last,
            maximumNames: Int(min(summarize.maximumNames, Limits.namesPerLogSummary)))
        try request(read, summarize.request, slot)
    }

    fileprivate mutating func list(_ summary: LogSummary, for request: RequestID) throws(WireError) {
        let slot = request.connection.slot
        var names = summary.names
        if let others = summary.others { names.append(.init(name: [], totals: others)) }
        let byteCount = names.reduce(0) { $0 + Self.entryBytes + $1.name.count }
        try ledger.checkRoom(for: byteCount, uid: connections[slot].uid)
        ledger.change(.pendingBytes, by: byteCount, uid: connections[slot].uid)
        connections[slot].listing = Listing(
            request: request.number, source: .storedNames(names[...]), byteCount: byteCount)
    }

    func storedNameEntry(_ name: LogSummary.Name, request: UInt64) -> StoredNameEntry {
        let totals = name.totals
        return StoredNameEntry(
            request: request, messages: totals.messages, bytes: totals.bytes, first: totals.first,
            firstMicroseconds: totals.firstTime, last: totals.last, lastMicroseconds: totals.lastTime,
            name: String(decoding: name.name, as: UTF8.self))
    }
}

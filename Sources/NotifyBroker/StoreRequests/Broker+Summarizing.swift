import NotifyLog
import NotifyWire

/// A request for the stored messages of each name that the store has not answered yet.
struct SummaryRead: StoreRequest {
    let connection: ConnectionID
    let request: UInt64
    let filter: SubscriptionFilter
    /// The first and the last sequence of the range.
    let first: UInt64
    let last: UInt64
    let maximumNames: Int
    /// The generation of the policy under which the store was asked.
    var rights: UInt32 = 0

    /// The memory of the request, in bytes.
    var byteCount: Int { 256 + filter.byteCount }
}

/// The number and bytes of the stored messages of each name.
extension Broker {
    /// The memory of a name in an answer, in bytes, besides the name itself.
    private static let entryBytes = 96

    /// Makes the request wait for the store. Later requests of the connection wait until it is answered.
    mutating func summarize(_ summarize: SummarizeLog, _ slot: ConnectionSlot) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.search + summarize.patterns.count * FairScheduler.Cost.pattern)
        let read = SummaryRead(
            connection: connections[slot].id, request: summarize.request,
            filter: try filter(patterns: summarize.patterns, object: "", for: connections[slot].identity),
            first: summarize.first,
            last: summarize.last, maximumNames: Int(min(summarize.maximumNames, Limits.namesPerLogSummary)))
        try charge(read)
        summaries.append(read)
        pause(slot, .awaitingPage)
        actions.append(.scheduleTick)
    }

    /// Asks the store for the next summary, if it works on none.
    mutating func requestSummary(now: BrokerTime) {
        let generation = access.policy.generation
        guard let read = summaries.begin(now: now, prepare: { $0.rights = generation }) else { return }
        actions.append(
            .store(
                .summarize(
                    SummaryRequest(
                        filter: read.filter, access: access.readAccess(of: connections[read.connection.slot].identity),
                        first: read.first, last: read.last, maximumNames: read.maximumNames)), .request(.summary)))
    }

    /// The store has summed up the messages, or has failed to.
    mutating func summarized(_ result: Result<LogSummary, StorageFailure>, now: BrokerTime) {
        let read = summaries.finish()
        actions.append(.scheduleTick)
        if case .failure(let failure) = result { storageFailed(failure, now: now) }
        guard let read else { return }
        let slot = read.connection.slot
        // The names were selected under earlier rights.
        guard read.rights == access.policy.generation else { return summaries.append(read) }
        uncharge(read)
        do throws(WireError) {
            switch result {
            case .failure(let failure): throw failure.readError
            case .success(let summary): try list(summary, for: read)
            }
        } catch {
            reject(slot, request: read.request, error, now: now)
        }
        continueLists(of: [read.connection])
    }

    private mutating func list(_ summary: LogSummary, for read: SummaryRead) throws(WireError) {
        let slot = read.connection.slot
        var names = summary.names
        if let others = summary.others { names.append(.init(name: [], totals: others)) }
        let byteCount = names.reduce(0) { $0 + Self.entryBytes + $1.name.count }
        try ledger.checkRoom(for: byteCount, uid: connections[slot].uid)
        ledger.change(.pendingBytes, by: byteCount, uid: connections[slot].uid)
        connections[slot].listing = Listing(
            request: read.request, source: .storedNames(names[...]), byteCount: byteCount)
    }

    func storedNameEntry(_ name: LogSummary.Name, request: UInt64) -> StoredNameEntry {
        let totals = name.totals
        return StoredNameEntry(
            request: request, messages: totals.messages, bytes: totals.bytes, first: totals.first,
            firstMicroseconds: totals.firstTime, last: totals.last, lastMicroseconds: totals.lastTime,
            name: String(decoding: name.name, as: UTF8.self))
    }

    /// Drops the request of a connection that ends, and the memory of its list.
    mutating func endSummary(of slot: ConnectionSlot) {
        if let read = summaries.remove(connections[slot].id) { uncharge(read) }
        endListing(slot)
    }
}

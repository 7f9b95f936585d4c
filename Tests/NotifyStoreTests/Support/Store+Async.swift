import NotifyLog
import NotifyWire
import TestSupport

@testable import NotifyStore

extension Store {
    @discardableResult
    func commit(_ batch: CommitBatch) async -> CommitOutcome {
        await completion { commit(batch, completion: $0) }
    }

    @discardableResult
    func commit(
        _ messages: [StoredMessage], changes: [DurableChange] = [], reserveBelow: UInt64? = nil,
        isSynced: Bool = false, copyBytes: [UInt32: Int] = [:]
    ) async -> CommitOutcome {
        var batch = CommitBatch(
            id: 1, blocks: messages.isEmpty ? [] : [LogBlock(messages)], changes: changes,
            reserveBelow: reserveBelow, isSynced: isSynced)
        batch.copyBytes = copyBytes
        return await commit(batch)
    }

    func page(
        _ filter: SubscriptionFilter, after: UInt64 = 0, through: UInt64 = .max, maximum: Int = .max,
        subscription: UInt32 = 1,
        access: ReadAccess = .of(uid: 0)
    ) async throws -> Page.Content {
        let request = PageRequest(
            for: .subscription, subscription: DurableID(subscription), filter: filter,
            access: access, after: after, through: through, maximumMessages: maximum)
        let page = await completion { readPage(request, completion: $0) }
        return try page.result.get()
    }

    /// Reads all matching messages, page by page.
    func everything(_ filter: SubscriptionFilter, subscription: UInt32 = 1) async throws -> [StoredMessage] {
        var messages: [StoredMessage] = []
        var position: UInt64 = 0
        while true {
            let page = try await page(filter, after: position, subscription: subscription)
            messages += page.block.messages
            guard page.scannedThrough > position else { return messages }
            position = page.scannedThrough
        }
    }

    /// The sequences of all messages.
    func allSequences() throws -> Set<UInt64> {
        try queue.wait {
            var sequences: Set<UInt64> = []
            guard let log = current.log else { return sequences }
            let rows = try PreparedStatement(log.connection, "SELECT sequence FROM messages")
            while try rows.step() { sequences.insert(rows.integer(0)) }
            return sequences
        }
    }
}

extension CommitOutcome {
    var failure: StorageFailure? {
        if case .failure(let failure) = result { failure } else { nil }
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport

@testable import NotifyStore

extension Store {
    /// Commits messages that set values, or clear those whose numbers are negative.
    @discardableResult
    func set(_ messages: [StoredMessage], _ numbers: [Int64], forgotten: ForgottenValues = .init()) async
        -> CommitOutcome
    {
        var batch = CommitBatch(id: 1, blocks: messages.isEmpty ? [] : [LogBlock(messages)])
        batch.values = zip(messages, numbers).map {
            ValueChange(sequence: $0.sequence, number: UInt64(abs($1)), isCleared: $1 < 0)
        }
        batch.forgottenValues = forgotten
        return await commit(batch)
    }

    func values(
        _ selection: PageRequest.Values = .byNumber, _ filter: SubscriptionFilter? = nil,
        after: UInt64 = 0, through: UInt64 = .max, maximum: Int = .max, access: ReadAccess = .of(uid: 0),
        omitsPayloads: Bool = false
    ) async throws -> Page.Content {
        var request = PageRequest(
            for: .values, filter: try filter ?? SubscriptionFilter(">"), access: access, after: after, through: through,
            maximumMessages: maximum)
        request.values = selection
        request.omitsPayloads = omitsPayloads
        return try await completion { readPage(request, completion: $0) }.result.get()
    }
}

extension Store {
    /// Waits until no pass over changed values is under way.
    func waitForValuePass() {
        let current = current
        while queue.wait({ current.slices.active(ValuePassWork.self) != nil }) {}
    }

    /// The number of changed values that are not in their rows.
    var unappliedValues: Int {
        let current = current
        return queue.wait { current.log?.values.count ?? 0 }
    }
}

import NotifyLog
import NotifyStore
import TestSupport

extension Store {
    /// Reads copies of messages.
    func copies(_ sequences: [UInt64], of id: DurableID = 1) async throws -> RedeliveryPage.Content {
        let request = RedeliveryRequest(subscription: id, sequences: sequences)
        return try await completion { readRedeliveries(request, completion: $0) }.result.get()
    }
}

extension StoredMessage {
    /// The size of the message's frame.
    var frameBytes: UInt32 { LogBlock([self]).entries[0].length }
}

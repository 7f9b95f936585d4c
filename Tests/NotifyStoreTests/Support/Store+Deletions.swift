import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

extension Store {
    func purge(_ pattern: NamePattern, before: UInt64 = .max) async throws {
        let request = PurgeRequest(filter: SubscriptionFilter(patterns: [pattern], object: nil), before: before)
        _ = try await completion { purge(request, completion: $0) }.get()
    }

    private func read(_ pattern: NamePattern, after: UInt64, mark: UInt64) async throws -> Page.Content {
        let request = PageRequest(
            for: .history, filter: SubscriptionFilter(patterns: [pattern], object: nil),
            access: .of(uid: 0), after: after, maximumMessages: 100, deletionMark: mark)
        return try await completion { readPage(request, completion: $0) }.result.get()
    }

    func deletionMark() async throws -> UInt64 {
        try await read(">", after: 0, mark: 0).deletionMark
    }

    /// The deletions that a reader of a page learns of.
    func missed(_ pattern: NamePattern, after: UInt64, since mark: UInt64) async throws -> Loss? {
        try await read(pattern, after: after, mark: mark).deleted
    }

    func withLog<Result>(_ body: (Log) throws -> Result) throws -> Result {
        try queue.wait { try body(#require(current.log)) }
    }

    func deletionEvents() throws -> [DeletionLog.Event] { try withLog { $0.deletions.events } }

    /// The number of rows that were inserted, updated or deleted.
    func totalChanges() throws -> Int64 {
        try withLog { try $0.connection.integer("SELECT total_changes()") }
    }
}

extension Loss {
    init(_ range: ClosedRange<UInt64>, _ count: UInt64, isUpperBound: Bool = false) {
        self.init(first: range.lowerBound, last: range.upperBound, count: count, isUpperBound: isUpperBound)
    }
}

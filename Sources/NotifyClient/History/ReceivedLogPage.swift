import NotifyWire

/// A page of the log, as far as it has arrived.
struct ReceivedLogPage: Sendable {
    let header: LogPage
    private(set) var batches: [MessageBatch] = []
    private var count = 0

    init(_ header: LogPage) {
        self.header = header
    }

    var isComplete: Bool { count >= header.count }

    mutating func append(_ batch: MessageBatch) {
        batches.append(batch)
        count += batch.entries.count
    }

    /// The notice of the damaged messages; nil if there are none.
    var gap: NotifyClient.Gap? {
        guard header.damaged > 0 else { return nil }
        let range = header.damagedRange
        return NotifyClient.Gap(
            reason: .damaged, missed: header.damaged, isUpperBound: true,
            sequences: range.first <= range.last ? range.first...range.last : nil)
    }

    /// The page's gap and messages, as batches for the program.
    var contents: [NotifyClient.Subscription.Batch] {
        var gaps = gap.map { [$0] } ?? []
        var contents: [NotifyClient.Subscription.Batch] = []
        for batch in batches {
            contents.append(.init(.init(gaps: gaps, batch: batch, range: 0..<batch.entries.count)))
            gaps = []
        }
        return gaps.isEmpty ? contents : [.init(.init(gaps: gaps))]
    }
}

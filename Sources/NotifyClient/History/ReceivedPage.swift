import NotifyWire

/// The header of a page: the deliveries that follow it are its messages.
protocol PageHeader: ReplyFrame {
    var request: UInt64 { get }
    /// The number of messages that follow.
    var count: UInt32 { get }
}

extension LogPage: PageHeader {}
extension ValuePage: PageHeader {}

/// The received part of a page of the log.
typealias ReceivedLogPage = ReceivedPage<LogPage>

/// The received part of a page.
struct ReceivedPage<Header: PageHeader>: Sendable {
    let header: Header
    private(set) var batches: [MessageBatch] = []
    private var count = 0

    init(_ header: Header) {
        self.header = header
    }

    var isComplete: Bool { count >= header.count }

    mutating func append(_ batch: MessageBatch) {
        batches.append(batch)
        count += batch.entries.count
    }
}

extension ReceivedPage<LogPage> {
    /// The gaps for deleted and for damaged messages.
    var gaps: [NotificationClient.Gap] {
        var gaps: [NotificationClient.Gap] = []
        if let deleted = header.deleted {
            gaps.append(
                .init(
                    reason: .deleted, missed: deleted.messages, isUpperBound: deleted.isUpperBound,
                    sequences: Self.sequences(deleted.range)))
        }
        if header.damaged > 0 {
            gaps.append(
                .init(
                    reason: .damaged, missed: header.damaged, isUpperBound: true,
                    sequences: Self.sequences(header.damagedRange)))
        }
        return gaps
    }

    private static func sequences(_ range: SequenceRange) -> ClosedRange<UInt64>? {
        range.first <= range.last ? range.first...range.last : nil
    }

    /// The page's gaps and messages, as batches for the program.
    var contents: [NotificationClient.Subscription.Batch] {
        var gaps = gaps
        var contents: [NotificationClient.Subscription.Batch] = []
        for batch in batches {
            contents.append(.init(.init(gaps: gaps, batch: batch, range: 0..<batch.entries.count)))
            gaps = []
        }
        return gaps.isEmpty ? contents : [.init(.init(gaps: gaps))]
    }
}

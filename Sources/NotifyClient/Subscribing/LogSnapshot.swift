import NotifyWire

/// The snapshot of a volatile subscription, as far as it was read: the stored messages up to the sequence at which the
/// live messages begin.
///
/// Live messages that the subscription's buffer has no room for until the snapshot has ended, and those that the daemon
/// drops meanwhile, are read from the log, too: the snapshot then ends later.
struct LogSnapshot {
    /// The part of the log that is still to be read.
    private(set) var rest: SequenceRange
    /// The mark since which deletions are reported: that of the first page, 0 before it; or that of all deletions.
    private(set) var deletionMark: UInt64
    /// The last sequence before the live messages.
    private let boundary: UInt64
    /// The number of live messages that had no room.
    private var evicted: UInt64 = 0
    /// Where the latest of them had no room.
    private var reason = NotificationClient.Gap.Reason.consumerTooSlow
    /// The number of messages after `boundary` that were read from the log.
    private var reread: UInt64 = 0

    /// - Parameter reportsEarlierDeletions: Whether to report also what was deleted before the subscription began.
    init(_ range: SequenceRange, reportsEarlierDeletions: Bool) {
        rest = range
        boundary = range.last
        deletionMark = reportsEarlierDeletions ? LogCursor.allDeletions : 0
    }

    var isComplete: Bool { rest.first > rest.last }

    /// Continues after a page.
    mutating func received(_ page: ReceivedLogPage, of range: SequenceRange) {
        if deletionMark == 0 { deletionMark = page.header.deletionMark }
        for batch in page.batches {
            for index in batch.entries.indices.reversed() {
                guard batch.sequence(index) > boundary else { break }
                reread += 1
            }
        }
        let end = page.header.isEnd ? range.last : page.header.through
        rest.first = max(rest.first, end < .max ? end + 1 : .max)
    }

    /// Live messages up to a sequence had no room.
    mutating func evicted(_ count: UInt64, through last: UInt64, _ reason: NotificationClient.Gap.Reason) {
        evicted += count
        self.reason = reason
        rest.last = max(rest.last, last)
    }

    /// The live messages that had no room and were not stored; nil if there are none.
    var gap: NotificationClient.Gap? {
        guard evicted > reread else { return nil }
        let sequences = boundary < rest.last ? boundary + 1...rest.last : nil
        return NotificationClient.Gap(reason: reason, missed: evicted - reread, sequences: sequences)
    }
}

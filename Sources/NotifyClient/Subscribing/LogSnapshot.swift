import NotifyWire

/// The progress of reading the snapshot of a volatile subscription: the stored messages before its live messages, which
/// are those posted after the daemon has registered it.
///
/// While the snapshot is read, the subscription's buffer may have no room for a live message, and the daemon may drop a
/// live message. Such messages are read from the log, too, so the end of the snapshot moves to a later sequence.
struct LogSnapshot {
    /// The part of the log that is still to be read.
    private(set) var rest: SequenceRange
    /// The mark after which deletions are reported. By default, this is the mark of the first page, and 0 until that
    /// page has arrived. If earlier deletions are reported, it is the mark before all deletions.
    private(set) var deletionMark: UInt64
    /// The last sequence before the live messages.
    private let boundary: UInt64
    /// The number of live messages that had no room, in the client's or the daemon's buffer.
    private var evicted: UInt64 = 0
    /// The reason of the gap: which of the two buffers had no room for the latest of these messages.
    private var reason = NotificationClient.Gap.Reason.consumerTooSlow
    /// The number of messages after `boundary` that were read from the log.
    private var reread: UInt64 = 0

    /// - Parameter reportsEarlierDeletions: Whether to report messages that were deleted before the subscription began,
    ///   too.
    init(_ range: SequenceRange, reportsEarlierDeletions: Bool) {
        rest = range
        boundary = range.last
        deletionMark = reportsEarlierDeletions ? ReadLog.allDeletions : 0
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

    /// Records that live messages up to a sequence had no room.
    mutating func evicted(_ count: UInt64, through last: UInt64, _ reason: NotificationClient.Gap.Reason) {
        evicted += count
        self.reason = reason
        rest.last = max(rest.last, last)
    }

    /// The gap for the live messages that had no room and were not stored; nil if there are none.
    var gap: NotificationClient.Gap? {
        guard evicted > reread else { return nil }
        let sequences = boundary < rest.last ? boundary + 1...rest.last : nil
        return NotificationClient.Gap(reason: reason, missed: evicted - reread, sequences: sequences)
    }
}

import NotifyLog

/// Pages in descending order: the newest messages of a range first.
extension PageReader {
    mutating func readDown() throws {
        guard scannedThrough > lowest else {
            scannedThrough = lowest
            return
        }
        guard request.maximumMessages > 0, try readOpenSegmentDown(), try readClosedSegmentsDown() else { return }
        scannedThrough = lowest
    }

    /// The lowest sequence of the range, which is read last.
    private var lowest: UInt64 { request.after + 1 }

    private mutating func readOpenSegmentDown() throws -> Bool {
        guard !log.contents.openSegment.isEmpty else { return true }
        return try read(
            downTo: max(lowest, log.contents.openSegment.segment.first),
            nameMatches(in: log.contents.openSegment.entries))
    }

    /// Returns false if the page reaches a limit before the beginning of the range.
    private mutating func readClosedSegmentsDown() throws -> Bool {
        while scannedThrough > lowest, let row = try log.nextSegment(below: scannedThrough),
            row.segment.last >= lowest
        {
            guard hasSegmentsLeft else { return false }
            // No message is between this segment and the position.
            scannedThrough = min(scannedThrough, row.segment.last + 1)
            let matches = try examine(row)
            guard try read(downTo: max(lowest, row.segment.first), matches) else { return false }
        }
        return true
    }
}

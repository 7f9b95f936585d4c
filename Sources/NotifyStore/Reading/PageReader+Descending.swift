import NotifyLog

/// Pages in descending order: the newest messages of a range first.
extension PageReader {
    mutating func readDown() throws {
        guard scannedThrough > first else {
            scannedThrough = first
            return
        }
        guard request.maximumMessages > 0, try readOpenSegmentDown(), try readClosedSegmentsDown() else { return }
        scannedThrough = first
    }

    /// The first sequence to read.
    private var first: UInt64 { request.after + 1 }

    private mutating func readOpenSegmentDown() throws -> Bool {
        guard !log.contents.openSegment.isEmpty else { return true }
        return try read(
            downTo: max(first, log.contents.openSegment.segment.first),
            nameMatches(in: log.contents.openSegment.entries))
    }

    /// Returns false if the page reaches a limit before the beginning of the range.
    private mutating func readClosedSegmentsDown() throws -> Bool {
        while scannedThrough > first, let row = try log.nextSegment(below: scannedThrough), row.segment.last >= first {
            guard hasSegmentsLeft else { return false }
            // No message is between this segment and the position.
            scannedThrough = min(scannedThrough, row.segment.last + 1)
            let matches = try examine(row)
            guard try read(downTo: max(first, row.segment.first), matches) else { return false }
        }
        return true
    }
}

import NotifyLog

/// Groups the messages of a newly committed block, so that successive messages for the same live reader are delivered
/// together.
struct LiveRun {
    /// Messages for one reader, as indices of successive entries of the block.
    struct Messages {
        let reader: ReaderID
        var range: Range<Int>
    }

    private let maximumBytes: Int
    private var bytes = 0
    /// The messages that are not delivered yet.
    private(set) var messages: Messages?

    /// - Parameter maximumBytes: The size at which a run ends.
    init(maximumBytes: Int) {
        self.maximumBytes = maximumBytes
    }

    /// Adds a message of the block for a reader.
    ///
    /// - Returns: The messages to deliver before the added one; nil if there are none.
    @inline(__always)
    mutating func add(_ entry: LogBlock.Entry, at index: Int, for reader: ReaderID) -> Messages? {
        if let current = messages, current.reader == reader, current.range.upperBound == index, bytes < maximumBytes {
            messages?.range = current.range.lowerBound..<index + 1
            bytes += Int(entry.length)
            return nil
        }
        defer {
            messages = Messages(reader: reader, range: index..<index + 1)
            bytes = Int(entry.length)
        }
        return messages
    }
}

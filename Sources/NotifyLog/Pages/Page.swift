/// A request for the stored messages after a position.
package struct PageRequest: Sendable {
    /// The use for which a page is read.
    package enum Purpose: CaseIterable, Sendable {
        /// A durable subscription with a member that has not reached the end of the log.
        case subscription
        /// A client that reads the log without a subscription.
        case history
        /// A trace, which reads one message.
        case trace
        /// A request to deliver dead letters again, or to delete them.
        case deadLetters
        /// A client that reads values, or clears them.
        case values
    }

    /// Which values are read instead of messages.
    package enum Values: Equatable, Sendable {
        /// The values with these numbers, in ascending order; those that do not exist are left out.
        case numbers([UInt64])
        /// The values whose numbers are above `after` and not above `through`, in the order of their numbers. Marks of
        /// cleared values are left out.
        case byNumber
        /// The values, and the marks of cleared ones, whose sequences are above `after`, in the order of their
        /// sequences.
        case bySequence
    }

    /// The purpose, returned with the page.
    package var purpose: Purpose
    /// The durable subscription for which the page is read; nil if there is none. Under this id, the store may cache
    /// which names match, as long as the filter and the rights stay the same.
    package var subscription: DurableID?
    package var filter: SubscriptionFilter
    /// The rights to read. Messages that may not be received under them are skipped.
    package var access: ReadAccess
    /// The sequence after which to read.
    package var after: UInt64
    /// The last sequence to read. Later messages are not returned.
    package var through: UInt64
    /// The maximum number of messages to return.
    package var maximumMessages: Int
    /// Whether to read from the last sequence to the first.
    package var isDescending: Bool
    /// A mark of deletions: later deletions of messages in the range are reported. 0 to report none.
    package var deletionMark: UInt64
    /// The durable subscriptions whose copies of message `after + 1` are looked up. The page contains the reason of the
    /// last failure of each copy.
    package var copiesOf: [DurableID] = []
    /// Which values to read; nil to read messages. The positions of the request and of its page are then numbers of
    /// values, except in the order of sequences.
    package var values: Values?
    /// Whether the payloads of values are left out.
    package var omitsPayloads = false

    package init(
        for purpose: Purpose, subscription: DurableID? = nil, filter: SubscriptionFilter, access: ReadAccess,
        after: UInt64, through: UInt64 = .max, maximumMessages: Int, isDescending: Bool = false,
        deletionMark: UInt64 = 0
    ) {
        self.purpose = purpose
        self.subscription = subscription
        self.filter = filter
        self.access = access
        self.after = after
        self.through = through
        self.maximumMessages = maximumMessages
        self.isDescending = isDescending
        self.deletionMark = deletionMark
    }
}

/// The matching messages in a range of the log.
package struct Page: Sendable {
    package var purpose: PageRequest.Purpose
    package var result: Result<Content, StorageFailure>
    package var statistics: StoreStatistics

    package struct Content: Sendable {
        package var block: LogBlock
        /// Every matching message up to this sequence is in this page or an earlier one. At the end of the log, this is
        /// the highest committed sequence, which shows the reader that it has caught up.
        ///
        /// In descending order, every matching message from this sequence on is in this page or an earlier one. At the
        /// end, this is the first sequence of the range.
        package var scannedThrough: UInt64

        /// The sequences of damaged messages, which were skipped. Some of them might not match, because the name of a
        /// damaged message is unknown.
        package var damaged: [UInt64]
        /// The matching messages that were deleted since the mark of the request, in the part of the range that was
        /// read; nil if there are none.
        package var deleted: Loss?
        /// The latest mark of deletions when the page was read.
        package var deletionMark: UInt64
        /// The reason of the last failure of each copy that the request looks up. Subscriptions without a copy are left
        /// out.
        package var reasons: [DurableID: String] = [:]

        package init(
            block: LogBlock, scannedThrough: UInt64, damaged: [UInt64] = [], deleted: Loss? = nil,
            deletionMark: UInt64 = 0
        ) {
            self.block = block
            self.scannedThrough = scannedThrough
            self.damaged = damaged
            self.deleted = deleted
            self.deletionMark = deletionMark
        }
    }

    package init(
        for purpose: PageRequest.Purpose, result: Result<Content, StorageFailure>, statistics: StoreStatistics
    ) {
        self.purpose = purpose
        self.result = result
        self.statistics = statistics
    }
}

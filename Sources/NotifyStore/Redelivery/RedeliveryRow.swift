import NotifyLog
import NotifyWire

/// A copy of a message that is kept for a durable subscription, as stored in the database.
struct RedeliveryRow {
    /// The columns that `init` reads, without the copy.
    ///
    /// - `frame_crc`: the checksum of the copy, which is the body of the message's frame
    /// - `crc`: the checksum of the other columns and of the copy's length
    /// - `kept`: the log's time from which the message's age counts, see ``kept``
    static let columns =
        "id, subscription, sequence, failures, due, dead, reason, frame_crc, crc, length(frame), kept, name"
    /// The column of a statement that selects `frame` after ``columns``.
    static let frameColumn: Int32 = 12

    let subscription: DurableID
    let sequence: UInt64
    let failures: UInt32
    /// The log's time at which the message is delivered again, in microseconds.
    private(set) var due: UInt64
    private let isDead: Bool
    /// The size of the message's deliver frame in bytes, with its header.
    let bytes: UInt32
    let reason: String
    let frameChecksum: UInt32
    /// The time from which the message's age counts: the log's time at which its segment was closed, or at which the
    /// copy was made, if the segment was still open or the message is retried from a dead letter.
    private(set) var kept: Duration
    /// The name of the message.
    let name: String

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged. The copy
    /// itself is not checked.
    init?(_ row: PreparedStatement) {
        guard let subscription = UInt32(exactly: row.integer(1)), let failures = UInt32(exactly: row.integer(3)),
            let bytes = UInt32(exactly: row.integer(9) + UInt64(FrameHeader.size)), row.integer(5) <= 1
        else { return nil }
        self.subscription = DurableID(subscription)
        sequence = row.integer(2)
        self.failures = failures
        due = row.integer(4)
        isDead = row.integer(5) == 1
        self.bytes = bytes
        reason = row.text(6)
        frameChecksum = row.integer32(7)
        kept = .microseconds(Int64(bitPattern: row.integer(10)))
        name = row.text(11)
        guard checksum == row.integer32(8), sequence < Limits.sequenceEnd, StoredTime.isSound(row.integer(10)) else {
            return nil
        }
    }

    /// - Parameter now: The log's time.
    init(
        _ subscription: DurableID, _ redelivery: Redelivery, at now: Duration, bytes: UInt32, reason: String,
        frameChecksum: UInt32, kept: Duration, name: String
    ) {
        self.subscription = subscription
        sequence = redelivery.sequence
        failures = redelivery.failures
        due = Self.due(after: redelivery.delayMicroseconds, at: now)
        isDead = redelivery.isDead
        self.bytes = bytes
        self.reason = reason
        self.frameChecksum = frameChecksum
        self.kept = kept
        self.name = name
    }

    /// The row of the same copy with another record and reason.
    func updated(_ redelivery: Redelivery, at now: Duration, reason: String) -> RedeliveryRow {
        RedeliveryRow(
            subscription, redelivery, at: now, bytes: bytes, reason: reason, frameChecksum: frameChecksum, kept: kept,
            name: name)
    }

    /// The record of the copy for the broker.
    ///
    /// - Parameter now: The log's time.
    func redelivery(at now: Duration) -> Redelivery {
        Redelivery(
            sequence: sequence, failures: failures, delayMicroseconds: delay(at: now), isDead: isDead, bytes: bytes)
    }

    /// Converts the row for another log, whose time differs.
    ///
    /// - Parameter time: The present time of the log that has the row. If nil, because it is unknown, the message is
    ///   due at once, and its age begins anew.
    func moved(from time: Duration?, to other: Duration) -> RedeliveryRow {
        var moved = self
        moved.due = Self.due(after: time.map { delay(at: $0) } ?? 0, at: other)
        moved.kept = time.map { max(.zero, other - ($0 - kept)) } ?? other
        return moved
    }

    private func delay(at now: Duration) -> UInt64 {
        let now = UInt64(max(0, now.microseconds))
        return due > now ? due - now : 0
    }

    private static func due(after delay: UInt64, at now: Duration) -> UInt64 {
        let (due, isOverflow) = UInt64(max(0, now.microseconds)).addingReportingOverflow(delay)
        return isOverflow ? .max : due
    }

    /// Whether the row is that of a message and a subscription. A lookup in a damaged index can find another row.
    func isOf(_ sequence: UInt64, _ subscription: DurableID) -> Bool {
        self.sequence == sequence && self.subscription == subscription
    }

    private var checksum: UInt32 {
        var checksum = Checksum()
        for number in [
            UInt64(subscription.rawValue), sequence, UInt64(failures), due, isDead ? 1 : 0, UInt64(bytes),
            UInt64(frameChecksum), UInt64(bitPattern: kept.microseconds),
        ] {
            checksum.add(number)
        }
        checksum.add(reason)
        checksum.add(name)
        return checksum.value
    }

    /// The message in the current row of a statement that selects `frame` after ``columns``; nil if it is damaged.
    /// Valid until the statement's next step.
    func message(in row: PreparedStatement) -> Delivery? {
        let body = row.bytes(Self.frameColumn)
        guard body.count + FrameHeader.size == Int(bytes), Checksum.of(body) == frameChecksum,
            let message = try? Delivery(reading: body), message.stamp.sequence == sequence
        else { return nil }
        return message
    }

    /// Inserts the row.
    ///
    /// - Parameter body: The body of the message's frame.
    func insert(_ body: UnsafeRawBufferPointer, with insert: PreparedStatement) throws {
        defer { insert.clearBindings() }
        try bind(to: insert)
        try insert.bind(8, frameChecksum)
        try insert.bind(9, kept.microseconds)
        try insert.bindText(10, copying: name)
        try insert.bindBlob(11, body)
        try insert.run()
    }

    /// Binds the columns to a statement that begins with them: an insertion, or an update.
    func bind(to statement: PreparedStatement) throws {
        try statement.bind(1, failures)
        try statement.bind(2, due)
        try statement.bind(3, Int64(isDead ? 1 : 0))
        try statement.bindText(4, copying: reason)
        try statement.bind(5, checksum)
        try statement.bind(6, subscription.rawValue)
        try statement.bind(7, sequence)
    }
}

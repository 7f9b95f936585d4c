import NotifyLog
import NotifyWire

/// A copy of a message that is kept for a durable subscription, as stored in the database.
struct RedeliveryRow {
    /// The columns that `init` reads, without the copy.
    ///
    /// - `frame_crc`: the checksum of the copy, which is the body of the message's frame
    /// - `crc`: that of the other columns and of the copy's length
    static let columns = "id, subscription, sequence, failures, due, dead, reason, frame_crc, crc, length(frame)"

    let subscription: DurableID
    let redelivery: Redelivery
    let reason: String
    let frameChecksum: UInt32

    /// Reads the current row of a statement that selects ``columns``. Returns nil if the row is damaged, apart from the
    /// copy.
    init?(_ row: PreparedStatement) {
        guard let subscription = UInt32(exactly: row.integer(1)), let failures = UInt32(exactly: row.integer(3)),
            let bytes = UInt32(exactly: row.integer(9) + UInt64(FrameHeader.size)), row.integer(5) <= 1
        else { return nil }
        self.subscription = DurableID(subscription)
        redelivery = Redelivery(
            sequence: row.integer(2), failures: failures, dueMicroseconds: row.integer(4), isDead: row.integer(5) == 1,
            bytes: bytes)
        reason = row.text(6)
        frameChecksum = row.integer32(7)
        guard checksum == row.integer32(8) else { return nil }
    }

    init(_ subscription: DurableID, _ redelivery: Redelivery, reason: String, frameChecksum: UInt32) {
        self.subscription = subscription
        self.redelivery = redelivery
        self.reason = reason
        self.frameChecksum = frameChecksum
    }

    /// Whether the row was meant: a damaged index finds others.
    func isOf(_ sequence: UInt64, _ subscription: DurableID) -> Bool {
        redelivery.sequence == sequence && self.subscription == subscription
    }

    private var checksum: UInt32 {
        var checksum = Checksum()
        for number in [
            UInt64(subscription.rawValue), redelivery.sequence, UInt64(redelivery.failures), redelivery.dueMicroseconds,
            redelivery.isDead ? 1 : 0, UInt64(redelivery.bytes), UInt64(frameChecksum),
        ] {
            checksum.add(number)
        }
        checksum.add(reason)
        return checksum.value
    }

    /// The body of the message's frame in the current row of a statement that selects it after ``columns``; nil if it
    /// is damaged.
    func body(in row: PreparedStatement) -> UnsafeRawBufferPointer? {
        let body = row.bytes(10)
        guard Checksum.of(body) == frameChecksum, let message = try? Delivery(reading: body),
            message.stamp.sequence == redelivery.sequence
        else { return nil }
        return body
    }

    /// Inserts the row.
    ///
    /// - Parameter body: The body of the message's frame.
    func insert(_ body: UnsafeRawBufferPointer, with insert: PreparedStatement) throws {
        defer { insert.clearBindings() }
        try bind(to: insert)
        try insert.bind(8, frameChecksum)
        try insert.bindBlob(9, body)
        try insert.run()
    }

    /// Binds the columns to a statement that begins with them: an insertion, or an update.
    func bind(to statement: PreparedStatement) throws {
        try statement.bind(1, redelivery.failures)
        try statement.bind(2, redelivery.dueMicroseconds)
        try statement.bind(3, Int64(redelivery.isDead ? 1 : 0))
        try statement.bindText(4, copying: reason)
        try statement.bind(5, checksum)
        try statement.bind(6, subscription.rawValue)
        try statement.bind(7, redelivery.sequence)
    }
}

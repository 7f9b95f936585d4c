import NIOCore
import NotifyLog
import NotifyWire

/// Copies of messages that durable subscriptions receive again.
extension Log {
    /// Stores a copy of a message for a subscription, or updates the record of an existing copy.
    func keep(
        _ redelivery: Redelivery, _ reason: String, _ frame: ByteBuffer?, for id: DurableID, _ statements: Statements
    ) throws {
        if let stored = try row(of: redelivery.sequence, id, statements) {
            let row = stored.updated(redelivery, at: clock.now, reason: reason)
            defer { statements.redeliveries.update.clearBindings() }
            try row.bind(to: statements.redeliveries.update)
            try statements.redeliveries.update.run()
            return
        }
        // A frame is passed if a message is retried from a dead letter. The age of the message then begins anew.
        let kept = try frame == nil ? closingTime(ofSegmentWith: redelivery.sequence, statements) : clock.now
        guard let frame = try frame ?? readFrame(redelivery.sequence, statements) else {
            return writer.addMissingCopy(of: redelivery.sequence, for: id)
        }
        // Removes a damaged row of the message.
        try forget([redelivery.sequence], of: id, statements)
        try frame.withUnsafeReadableBytes { bytes in
            let body = bytes.slice(from: FrameHeader.size)
            let row = RedeliveryRow(
                id, redelivery, at: clock.now, bytes: UInt32(bytes.count), reason: reason,
                frameChecksum: Checksum.of(body), kept: kept,
                name: String(decoding: try Delivery(reading: body).parts.name, as: UTF8.self))
            try row.insert(body, with: statements.redeliveries.insert)
        }
        // The copy is not refused for lack of room, but counts towards the limits of later batches.
        disk.noteGrowth(UInt64(2 * frame.readableBytes + 512))
    }

    func forget(_ sequences: [UInt64], of id: DurableID, _ statements: Statements) throws {
        for sequence in sequences {
            try statements.redeliveries.forget.bind(1, id.rawValue)
            try statements.redeliveries.forget.bind(2, sequence)
            try statements.redeliveries.forget.run()
        }
    }

    /// The log's time at which the segment of a message was closed; the present time if the segment is open.
    private func closingTime(ofSegmentWith sequence: UInt64, _ statements: Statements) throws -> Duration {
        let rows = statements.segments.closing
        defer { rows.reset() }
        try rows.bind(1, sequence)
        guard try rows.step(), rows.integer(0) >= sequence else { return clock.now }
        return min(clock.now, .microseconds(Int64(bitPattern: rows.integer(1))))
    }

    private func row(
        of sequence: UInt64, _ id: DurableID, _ statements: Statements
    ) throws -> RedeliveryRow? {
        let rows = statements.redeliveries.read
        defer { rows.reset() }
        try rows.bind(1, id.rawValue)
        try rows.bind(2, sequence)
        guard try rows.step(), let row = RedeliveryRow(rows), row.isOf(sequence, id) else { return nil }
        return row
    }

    /// The frame of a stored message; nil if there is none, or if it is damaged.
    private func readFrame(_ sequence: UInt64, _ statements: Statements) throws -> ByteBuffer? {
        let rows = statements.messages.readOne
        defer { rows.reset() }
        try rows.bind(1, sequence)
        guard try rows.step(), MessageRow.isKeySound(rows) else { return nil }
        let key = MessageRow.key(rows)
        guard let number = contents.names.number(ofID: key.name) else { return nil }
        var frame = ByteBuffer()
        let isSound = contents.names.withBytes(of: number) { name in
            MessageRow.read(rows, sequence: sequence, uid: key.uid, name: name).map {
                MessageRow.append($0, to: &frame)
            } ?? false
        }
        return isSound ? frame : nil
    }

    // MARK: Reading

    /// Reads the requested copies.
    func readRedeliveries(_ request: RedeliveryRequest) -> RedeliveryPage {
        let result: Result<RedeliveryPage.Content, StorageFailure>
        do {
            if let corruption = database.corruption { throw corruption }
            result = .success(try read(request))
        } catch {
            result = .failure(failure(error))
        }
        return RedeliveryPage(subscription: request.subscription, result: result, statistics: statistics)
    }

    private func read(_ request: RedeliveryRequest) throws -> RedeliveryPage.Content {
        guard request.sequences.count <= RedeliveryRequest.maximumMessages else {
            throw StorageFailure(
                kind: .inputOutput, message: "more copies of messages are requested than can be read at once")
        }
        let rows = try openStatements().redeliveries.read
        defer { rows.reset() }
        var content = RedeliveryPage.Content(block: LogBlock(), reasons: [])
        for sequence in request.sequences {
            rows.reset()
            try rows.bind(1, request.subscription.rawValue)
            try rows.bind(2, sequence)
            if try rows.step(), let row = RedeliveryRow(rows), row.isOf(sequence, request.subscription),
                let message = row.message(in: rows)
            {
                content.block.append(message)
                content.reasons.append(row.reason)
            } else {
                content.missing.append(sequence)
            }
        }
        return content
    }

    /// The time of the oldest message with a copy for a subscription, in microseconds since 1970; nil if there is none,
    /// or if its copy is damaged.
    func timeOfOldestCopy(of id: DurableID) throws -> UInt64? {
        let rows = try openStatements().redeliveries.readOldest
        defer { rows.reset() }
        try rows.bind(1, id.rawValue)
        guard try rows.step(), let row = RedeliveryRow(rows), row.subscription == id else { return nil }
        return row.message(in: rows)?.stamp.timeMicroseconds
    }

    /// The reasons of the last failures of a message in some subscriptions. Subscriptions without a copy are left out.
    func reasons(ofCopiesOf sequence: UInt64, _ ids: [DurableID]) throws -> [DurableID: String] {
        let statements = try openStatements()
        var reasons: [DurableID: String] = [:]
        for id in ids { reasons[id] = try row(of: sequence, id, statements)?.reason }
        return reasons
    }

    /// The recorded copies of each subscription, with the reason of the failed copy that is due last, and the number of
    /// damaged rows, which are left out.
    func readRedeliveries() throws -> (
        [DurableID: [Redelivery]], reasons: [DurableID: RedeliveryRow], damaged: Int
    ) {
        let rows = try PreparedStatement(
            connection, "SELECT \(RedeliveryRow.columns) FROM redeliveries ORDER BY subscription, sequence")
        let now = clock.now
        var (redeliveries, damaged): ([DurableID: [Redelivery]], Int) = ([:], 0)
        var reasons: [DurableID: RedeliveryRow] = [:]
        while try rows.step() {
            // A damaged index can list a row twice.
            guard let row = RedeliveryRow(rows),
                redeliveries[row.subscription]?.last.map({ $0.sequence < row.sequence }) ?? true
            else {
                damaged += 1
                continue
            }
            redeliveries[row.subscription, default: []].append(row.redelivery(at: now))
            if row.failures > 0, row.due >= reasons[row.subscription]?.due ?? 0 { reasons[row.subscription] = row }
        }
        return (redeliveries, reasons, damaged)
    }
}

extension CommitBatch {
    /// Whether the batch may change copies of messages, or delete messages.
    var changesCopies: Bool {
        changes.contains { change in
            switch change {
            case .keep, .forget, .delete, .remove, .replace: true
            case .create, .countDeleted, .update, .setOwner, .addLoss, .forgetLoss: false
            }
        }
    }
}

extension LogBlock {
    fileprivate mutating func append(_ message: Delivery) {
        let start = frames.writerIndex
        let size = Delivery.append(message.stamp, message.parts, to: &frames)
        entries.append(Entry(sequence: message.stamp.sequence, offset: UInt32(start), length: UInt32(size)))
    }
}

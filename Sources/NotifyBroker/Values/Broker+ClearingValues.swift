import NotifyCenter
import NotifyLog
import NotifyWire

/// Clearing values.
extension Broker {
    /// The maximum number of values that one step clears, because each may have many subscribers.
    private static let clearedPerPage = 64

    /// Clears values. A single value, given by its name and object, is cleared at once. The values of patterns are read
    /// and cleared a page at a time, each page after the commit of the one before.
    mutating func clearValues(_ clear: ClearValues, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.trace + clear.patterns.count * FairScheduler.Cost.pattern)
        let patterns = try patterns(of: clear.patterns)
        try checkPosts(patterns, slot)
        if let object = clear.object, patterns.count == 1, patterns[0].isExact {
            return try clearValue(patterns[0].string, object: object, clear, slot, now: now)
        }
        guard clear.ifSequence == nil else {
            throw WireError(.invalidArgument, "an expected sequence needs a name without wildcards")
        }
        for pattern in patterns where pattern.isExact {
            if let holder = announcer(of: pattern.string, object: clear.object, now: now) {
                return refuse(slot, request: clear.request, holder.error, detail: UInt64(holder.pid))
            }
        }
        try checkValueReads(slot)
        try begin(
            .clear(ValueRead.Clearing()), clear.request, SubscriptionFilter(patterns: patterns, object: clear.object),
            after: 0, through: values.lastNumber, maximumMessages: Self.clearedPerPage, slot)
    }

    /// Checks the right to post each name without wildcards, whether or not it has a value.
    private mutating func checkPosts(_ patterns: [NamePattern], _ slot: ConnectionSlot) throws(WireError) {
        let identity = connections[slot].identity
        for pattern in patterns where pattern.isExact {
            let result = pattern.withUTF8 { name in
                Result { () throws(WireError) in try access.checkPost(name, identity) }
            }
            _ = try result.get()
        }
    }

    private mutating func clearValue(
        _ name: String, object: String, _ clear: ClearValues, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        var (name, object) = (name, object)
        let result = name.withUTF8 { name in
            object.withUTF8 { object in
                Result { () throws(WireError) -> (sequence: UInt64, key: ValueKey)? in
                    let value = ValueName(name: UnsafeRawBufferPointer(name), object: UnsafeRawBufferPointer(object))
                    // Once the value is cleared, the request can't be refused.
                    if values.find(value.key) != nil { try checkAnswerRoom(slot) }
                    let sequence = try clearValue(value, ifSequence: clear.ifSequence, clear.request, slot, now: now)
                    return sequence.map { ($0, value.key) }
                }
            }
        }
        guard let (sequence, key) = try result.get() else { return }
        let cleared = ValuesCleared(request: clear.request, count: sequence == 0 ? 0 : 1, sequence: sequence)
        guard values.isUncertain(key) else { return answer(slot, cleared) }
        answerLater(.valueCleared(connections[slot].id, cleared), key, slot)
    }

    /// Clears the value of a name and object, if its sequence is the expected one.
    ///
    /// - Returns: The sequence of the message that clears the value, 0 if there is none; nil if the request is refused.
    private mutating func clearValue(
        _ value: ValueName, ifSequence: UInt64?, _ request: UInt64, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> UInt64? {
        _ = try access.checkPost(value.name, connections[slot].identity)
        if let holder = announcer(of: value.key, now: now) {
            refuse(slot, request: request, holder.error, detail: UInt64(holder.pid))
            return nil
        }
        let record = values.find(value.key)
        let current = values.current(record)
        guard current.meets(ifSequence) else {
            try refuseChanged(value.key, slot, request: request)
            return nil
        }
        guard current.sequence > 0 else {
            values.noteDependence(on: value.key)
            return 0
        }
        let sequence = try publish(clearOf: value.name, value.object, from: slot, now: now)
        let mark = ValueEntry(sequence: sequence, uid: connections[slot].uid, bytes: 0)
        charge(values.change(value, record, to: mark, isConditional: ifSequence != nil))
        return sequence
    }

    // MARK: Patterns

    /// Clears the values of a page. The next page is read after the commit.
    mutating func clear(
        _ content: Page.Content, _ clearing: ValueRead.Clearing, _ read: ValueRead, now: BrokerTime
    ) {
        var (clearing, read) = (clearing, read)
        let slot = read.connection.slot
        let (earlier, spent) = (commits.pending.bytes, content.block.entries.count * FairScheduler.Cost.frame)
        scheduler.charge(FairScheduler.Cost.trace + spent, to: connections[slot].uid)
        defer { if connections.contains(read.connection) { chargePending(since: earlier, to: slot) } }
        do throws(WireError) {
            for entry in content.block.entries {
                let sequence = try clear(entry, of: content.block, slot, now: now)
                clearing.count += sequence > 0 ? 1 : 0
                clearing.sequence = max(clearing.sequence, sequence)
            }
        } catch {
            end(read)
            // The name may be one that the client may not receive.
            let message =
                error.code == .forbidden
                ? "you may not post some of these names: choose patterns of names that you may post" : error.message
            let others = "; others of the values may be cleared"
            return reject(slot, request: read.request, WireError(error.code, message + others), now: now)
        }
        read.after = content.scannedThrough
        clearing.isAtEnd = read.after >= read.through
        read.use = .clear(clearing)
        commits.append(nil, then: .clearing(read))
    }

    private mutating func clear(
        _ entry: LogBlock.Entry, of block: LogBlock, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> UInt64 {
        let result = block.withMessage(entry) { message in
            Result { () throws(WireError) -> UInt64? in
                let value = ValueName(name: message.parts.name, object: message.parts.object)
                // The value was cleared since, and another one is announced.
                guard announcer(of: value.key, now: now) == nil else { return nil }
                return try clearValue(value, ifSequence: nil, 0, slot, now: now)
            }
        }
        return try result.get() ?? 0
    }

    /// Answers a request whose values are cleared, or reads its next page.
    mutating func clearingCommitted(_ read: ValueRead) {
        guard connections.contains(read.connection), case .clear(let clearing) = read.use else {
            return ledger.release(read.charge)
        }
        guard clearing.isAtEnd else {
            var read = read
            // The request has waited for the values of earlier requests, which have numbers only now.
            if read.after == 0 { read.through = values.lastNumber }
            pages.values.append(read)
            return actions.append(.scheduleTick)
        }
        end(read)
        answer(
            read.connection.slot,
            ValuesCleared(request: read.request, count: clearing.count, sequence: clearing.sequence))
    }

    /// Refuses a request because the commit of the batch that clears its values has failed.
    mutating func clearingFailed(_ read: ValueRead, _ error: WireError) {
        guard connections.contains(read.connection) else { return ledger.release(read.charge) }
        end(read)
        refuse(read.connection.slot, request: read.request, error)
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire

/// Clearing values.
extension Broker {
    /// The maximum number of values that one step clears.
    private static let clearedPerPage = 1_024

    /// Clears values. A single value, given by its name and object, is cleared at once. The values of patterns are read
    /// and cleared a page at a time, each page after the commit of the one before.
    mutating func clearValues(_ clear: ClearValues, _ slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        scheduler.spend(FairScheduler.Cost.trace + clear.patterns.count * FairScheduler.Cost.pattern)
        let patterns = try patterns(of: clear.patterns)
        if let object = clear.object, patterns.count == 1, patterns[0].isExact {
            return try clearValue(patterns[0].string, object: object, clear, slot, now: now)
        }
        guard clear.ifSequence == nil else {
            throw WireError(.invalidArgument, "an expected sequence needs a name without wildcards")
        }
        guard connections[slot].valueReads < configuration.subscriptionsPerConnection else {
            throw WireError(
                .limitReached, "too many requests for values are unanswered on this connection: wait for some of them")
        }
        try begin(
            .clear(ValueRead.Clearing()), clear.request, SubscriptionFilter(patterns: patterns, object: clear.object),
            after: 0, through: values.lastNumber, maximumMessages: Self.clearedPerPage, slot)
    }

    private mutating func clearValue(
        _ name: String, object: String, _ clear: ClearValues, _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) {
        var (name, object) = (name, object)
        let result = name.withUTF8 { name in
            object.withUTF8 { object in
                Result { () throws(WireError) in
                    try clearValue(
                        UnsafeRawBufferPointer(name), UnsafeRawBufferPointer(object), ifSequence: clear.ifSequence,
                        clear.request, slot, now: now)
                }
            }
        }
        guard let sequence = try result.get() else { return }
        connections[slot].answerPending()
        commits.append(
            nil,
            then: .valueCleared(
                connections[slot].id,
                ValuesCleared(request: clear.request, count: sequence == 0 ? 0 : 1, sequence: sequence)))
    }

    /// Clears the value of a name and object, if its sequence is the expected one.
    ///
    /// - Returns: The sequence of the message that clears the value, 0 if there is none; nil if the request is refused.
    private mutating func clearValue(
        _ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer, ifSequence: UInt64?, _ request: UInt64,
        _ slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> UInt64? {
        _ = try access.checkPost(name, connections[slot].identity)
        let value = ValueName(name: name, object: object)
        guard meets(ifSequence, value.key) else {
            refuseChanged(value.key, slot, request: request)
            return nil
        }
        guard values.current(value.key).sequence > 0 else { return 0 }
        return try publishClear(name, object, value, isConditional: ifSequence != nil, from: slot, now: now)
    }

    /// Posts the message that clears a value, in the name of the client.
    private mutating func publishClear(
        _ name: UnsafeRawBufferPointer, _ object: UnsafeRawBufferPointer, _ value: ValueName, isConditional: Bool,
        from slot: ConnectionSlot, now: BrokerTime
    ) throws(WireError) -> UInt64 {
        let earlier = commits.pending.bytes
        defer { chargePending(since: earlier, to: slot) }
        let uid = connections[slot].uid
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        let result = Self.clearedHeaders.withUnsafeBytes { headers in
            Result { () throws(WireError) in
                let parts = MessageParts(
                    name: name, object: object, messageID: nothing, headers: headers, payload: nothing)
                var admission = Admission(resolve(parts))
                admission.account = try checkStorage(of: parts, wantsReceipt: false, from: slot)
                scheduler.spend(admission.resolution.count &* FairScheduler.Cost.delivery)
                let poster = Poster(uid: uid, gid: connections[slot].gid, pid: connections[slot].pid, connection: slot)
                return try publish(parts, admission, from: poster, now: now).sequence
            }
        }
        let sequence = try result.get()
        statistics.messagesIn += 1
        changeValue(value, sequence: sequence, uid: uid, bytes: 0, isConditional: isConditional)
        return sequence
    }

    private static let clearedHeaders = ClearedHeader.encoded(.cleared)

    // MARK: Patterns

    /// Clears the values of a page. The next page is read after the commit.
    mutating func clear(
        _ content: Page.Content, _ clearing: ValueRead.Clearing, _ read: ValueRead, now: BrokerTime
    ) {
        var (clearing, read) = (clearing, read)
        let slot = read.connection.slot
        do throws(WireError) {
            for entry in content.block.entries {
                let sequence = try clear(entry, of: content.block, slot, now: now)
                clearing.count += sequence > 0 ? 1 : 0
                clearing.sequence = max(clearing.sequence, sequence)
            }
        } catch {
            end(read)
            let done = clearing.count == 0 ? "" : "; \(clearing.count) values were cleared before that"
            return reject(slot, request: read.request, WireError(error.code, error.message + done), now: now)
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
            Result { () throws(WireError) in
                try clearValue(message.parts.name, message.parts.object, ifSequence: nil, 0, slot, now: now)
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

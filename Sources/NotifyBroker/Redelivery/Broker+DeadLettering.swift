import NotifyCenter
import NotifyLog
import NotifyWire

/// Messages that have failed too often become dead letters: messages of the log under `notifyd.dead.` and the uid of
/// the durable subscription's owner. The batch that stores a dead letter also deletes the subscription's copy of the
/// message.
extension Broker {
    /// Whether a dead letter of the subscription can be stored now. The owner's copies do not count here: a dead letter
    /// replaces a copy, so many copies must not prevent dead letters.
    func hasRoomForDeadLetters(_ slot: DurableSlot) -> Bool {
        guard (try? commits.checkRoom()) != nil, isReady, !isPurging else { return false }
        return ownerHasRoomForDeadLetters(durables[slot])
    }

    private func ownerHasRoomForDeadLetters(_ durable: DurableSubscription) -> Bool {
        guard let limit = access.limits(of: durable.owner).storedBytes else { return true }
        return UInt64(ledger.stored.usage(of: durable.uid).deadLetterBytes) < limit
    }

    /// Whether messages that have failed too often can't become dead letters, because the owner's dead letters use up
    /// its share for failed messages (see `StoredUsages`).
    func needsRoomForDeadLetters(_ durable: DurableSubscription) -> Bool {
        !ownerHasRoomForDeadLetters(durable) && durable.isAwaitingDeadLetters
    }

    /// Whether the owner's copies and dead letters are within its share for failed messages. Above the share nothing is
    /// lost: messages that have failed too often stay as copies until there is room for dead letters, and a
    /// subscription with many copies gets no further messages.
    func ownerHasRoomForFailures(_ slot: DurableSlot) -> Bool {
        guard let limit = access.limits(of: durables[slot].owner).storedBytes else { return true }
        return UInt64(ledger.stored.failedBytes(of: durables[slot].uid)) < limit
    }

    /// Makes dead letters of messages, with the next batch. A message that is itself a dead letter is finished without
    /// a new dead letter: the log keeps it as long as other dead letters.
    mutating func deadLetter(_ content: RedeliveryPage.Content, of slot: DurableSlot, now: BrokerTime) {
        // A message may have been acknowledged, or the subscription reset, since the copies were requested.
        let letters = zip(content.block.entries, content.reasons).filter { entry, _ in
            durables[slot].redeliveryState(of: entry.sequence) == .deadLettering
        }
        guard !letters.isEmpty else {
            let sequences = content.block.entries.map(\.sequence)
            return durables[slot].notDeadLettered(sequences)
        }
        var deadLettered: [UInt64] = []
        for (entry, reason) in letters {
            let isStored = content.block.withMessage(entry) { message in
                DeadLetterHeaders.isDeadLetter(message.parts.name)
                    || postDeadLetter(of: message, reason, slot, now: now)
            }
            if isStored {
                deadLettered.append(entry.sequence)
            } else {
                durables[slot].deadLetterFailed(entry.sequence)
            }
        }
        // The remaining messages follow after the next batch that succeeds.
        if deadLettered.count < letters.count { durables.redeliveryReads.failed(slot) }
        guard !deadLettered.isEmpty else { return }
        let id = durables[slot].id
        commits.append(.forget(id: id, sequences: deadLettered), then: .deadLettered(id, sequences: deadLettered))
    }

    /// - Returns: Whether the dead letter is in the next batch.
    private mutating func postDeadLetter(
        of message: Delivery, _ reason: String, _ slot: DurableSlot, now: BrokerTime
    ) -> Bool {
        let failures = durables[slot].failures(of: message.stamp.sequence)
        let headers = DeadLetterHeaders(message, deliveries: failures, reason: reason)
            .encoded(after: message.parts.headers)
        let name = Array(ReservedNames.deadLetters(of: durables[slot].uid).utf8)
        let object = Array(durables[slot].name.utf8)
        return name.withUnsafeBytes { name in
            object.withUnsafeBytes { object in
                headers.withUnsafeBytes { headers in
                    store(
                        deadLetter: MessageParts(
                            name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                            headers: headers, payload: message.parts.payload),
                        of: slot, now: now)
                }
            }
        }
    }

    private mutating func store(deadLetter parts: MessageParts, of slot: DurableSlot, now: BrokerTime) -> Bool {
        guard hasRoomForDeadLetters(slot) else { return false }
        return publish(deadLetter: parts, of: access.identity(durables[slot].owner), now: now)
    }

    /// Completes dead letters that are in the log.
    mutating func deadLettered(_ sequences: [UInt64], of id: DurableID, now: BrokerTime) {
        statistics.deadLetters += UInt64(sequences.count)
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].deadLettered(sequences)
        // There may be room for further deliveries now.
        answersChanged(slot, now: now)
    }

    mutating func notDeadLettered(_ sequences: [UInt64], of id: DurableID) {
        guard let slot = durables.slot(of: id) else { return }
        durables[slot].notDeadLettered(sequences)
        durables.redeliveryReads.failed(slot)
    }
}

extension ReservedNames {
    /// The name of the dead letters of a user's durable subscriptions.
    static func deadLetters(of uid: UInt32) -> String { "\(DeadLetterHeaders.namePrefix)\(uid)" }
}

import DequeModule
import NotifyLog

/// The rights to due messages: the identities of the subscription that may receive each message.
///
/// There is a queue of evaluated messages for each set of rights, so that only messages that a member may receive are
/// read.
extension Redeliveries {
    /// Takes due messages with these rights, to read them. Takes at least one message, and no further ones that would
    /// exceed the limits.
    mutating func takeDue(_ rights: MessageRights = .unknown, maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        var queue = takeQueue(rights)
        defer { setQueue(rights, queue) }
        let sequences = take(
            from: &queue, .due, as: .reading, maximumCount: maximumCount, maximumBytes: maximumBytes)
        for sequence in sequences { messages[sequence]?.rights = .unknown }
        return sequences
    }

    /// Takes out the queue of the due messages with these rights, so that a change of the queue makes no copy.
    private mutating func takeQueue(_ rights: MessageRights) -> Deque<UInt64> {
        rights == .unknown ? exchange(&due, with: []) : evaluatedDue.removeValue(forKey: rights) ?? []
    }

    private mutating func setQueue(_ rights: MessageRights, _ queue: Deque<UInt64>) {
        if rights == .unknown { due = queue } else if !queue.isEmpty { evaluatedDue[rights] = queue }
    }

    /// Adds a withheld message, which was not delivered to any member yet.
    mutating func addWithheld(_ sequence: UInt64, bytes: UInt32, _ rights: MessageRights) {
        add(sequence, .due, bytes: bytes)
        update(sequence) { message in
            message.rights = rights
            message.isSetAside = true
        }
        areRightsKnown = true
    }

    private var hasRoom: Bool { maximumBytes == Redelivery.maximumBytes }

    /// Whether a further message may be withheld even if the log has no room.
    var mayWithholdWithoutRoom: Bool { hasRoom || withheld.bytes < Redelivery.bytesWithoutRoom }

    /// The maximum number of bytes of withheld messages after a further one is added. While the owner's share has no
    /// room, the bytes must not grow.
    var maximumWithheldBytes: Int {
        hasRoom ? WithheldCopies.maximumBytes : max(withheld.bytes, Redelivery.bytesWithoutRoom)
    }

    /// The number of withheld messages that are removed together, so that there is one gap for many.
    private static let removedWithheld = 512
    /// The part of the maximum bytes that is removed in addition, as a divisor: at most 1/64.
    private static let removedPart = 64

    /// Removes the oldest withheld messages if there are too many.
    ///
    /// - Returns: The removed messages.
    mutating func removeExcessWithheld(maximumBytes: Int = WithheldCopies.maximumBytes) -> [UInt64] {
        let (count, bytes) = (WithheldCopies.maximumCount, min(maximumBytes, WithheldCopies.maximumBytes))
        guard withheld.exceed(count: count, bytes: bytes) else { return [] }
        var removed: [UInt64] = []
        while withheld.exceed(count: count, bytes: bytes)
            || removed.count < Self.removedWithheld
                && withheld.exceed(count: count - Self.removedWithheld, bytes: bytes - bytes / Self.removedPart),
            let sequence = takeOldestWithheld()
        {
            remove(sequence)
            removed.append(sequence)
        }
        return removed
    }

    /// Makes a message due again after it was read, and records the rights to it.
    ///
    /// - Parameter isSetAside: Whether no member with room may receive the message. False if no client is attached.
    mutating func evaluated(_ sequence: UInt64, _ rights: MessageRights, isSetAside: Bool = true) {
        guard messages[sequence]?.state == .reading else { return }
        update(sequence) { message in
            message.rights = rights
            message.isSetAside = message.isSetAside || isSetAside
        }
        areRightsKnown = true
        set(.due, of: sequence)
    }

    /// The rights to the oldest due message that one of the given identities may receive; nil if there is none.
    mutating func dueRights(intersecting rights: MessageRights) -> MessageRights? {
        var first: (sequence: UInt64, rights: MessageRights)?
        for candidate in [MessageRights.unknown] + evaluatedDue.keys where !candidate.isDisjoint(with: rights) {
            var queue = takeQueue(candidate)
            defer { setQueue(candidate, queue) }
            while let sequence = queue.first, !isDue(sequence, candidate) { queue.removeFirst() }
            guard let sequence = queue.first else { continue }
            if first.map({ sequence < $0.sequence }) ?? true { first = (sequence, candidate) }
        }
        return first?.rights
    }

    /// Whether some due message is known to be forbidden for an identity of the subscription.
    var areDueRestricted: Bool { evaluatedDue.keys.contains(where: \.isRestricted) }

    private func isDue(_ sequence: UInt64, _ rights: MessageRights) -> Bool {
        messages[sequence].map { $0.state == .due && $0.isStored && $0.rights == rights } ?? false
    }

    /// The number of due messages that only other identities than these may receive.
    func withheldCount(from rights: MessageRights) -> Int {
        messages.values.count { $0.state == .due && $0.rights.isRestricted && $0.rights.isDisjoint(with: rights) }
    }

    /// Removes the entries of a queue that are out of date.
    mutating func compactDue(_ rights: MessageRights) {
        guard var queue = evaluatedDue.removeValue(forKey: rights) else { return }
        var kept: Set<UInt64> = []
        queue.removeAll { !isDue($0, rights) || !kept.insert($0).inserted }
        evaluatedDue[rights] = queue
    }

    /// Whether a change of the policy requires work: rights are outdated, or copies may have to be read.
    var mayNeedRights: Bool { areRightsOutdated || hasWork }

    /// Forgets the rights to all messages. The rights are evaluated again when the messages are read.
    mutating func forgetRights() {
        areRightsOutdated = false
        guard areRightsKnown else { return }
        areRightsKnown = false
        for sequence in messages.keys { update(sequence) { $0.rights = .unknown } }
        let sequences = Set(evaluatedDue.values.joined()).filter { messages[$0]?.state == .due }
        evaluatedDue = [:]
        work += messages.count
        due.append(contentsOf: sequences.sorted())
    }
}

import DequeModule
import NotifyWire

/// Delivering messages again, and acknowledging them.
extension Redeliveries {
    /// Takes messages that must become dead letters and have an up-to-date row in the log. Takes at least one message,
    /// and no further ones that would exceed the limits.
    mutating func takeDead(maximumCount: Int, maximumBytes: Int) -> [UInt64] {
        var queue = exchange(&dead, with: [])
        defer { dead = queue }
        return take(
            from: &queue, .dead, as: .deadLettering, maximumCount: maximumCount, maximumBytes: maximumBytes)
    }

    /// Takes messages from a queue. Outdated entries before them are removed.
    mutating func take(
        from queue: inout Deque<UInt64>, _ state: State, as next: State, maximumCount: Int, maximumBytes: Int
    ) -> [UInt64] {
        var (sequences, bytes): ([UInt64], Int) = ([], 0)
        while sequences.count < maximumCount, let sequence = queue.first {
            if let message = messages[sequence], message.state == state, message.isStored {
                bytes += Int(message.bytes)
                guard sequences.isEmpty || bytes <= maximumBytes else { break }
                set(next, of: sequence)
                sequences.append(sequence)
            }
            queue.removeFirst()
        }
        return sequences
    }

    /// Makes messages due again that were read and not delivered.
    mutating func notDelivered(_ sequences: some Collection<UInt64>) {
        for sequence in sequences.reversed() where messages[sequence]?.state == .reading {
            set(.due, of: sequence)
            // The messages go to the front, because others became due later.
            if let last = due.popLast() { due.prepend(last) }
        }
    }

    /// Records the delivery of a message to a member.
    ///
    /// - Returns: False if the message is finished or was not read for delivery.
    mutating func delivered(_ sequence: UInt64, to member: MemberID, deadline: Duration?) -> Bool {
        guard messages[sequence]?.state == .reading else { return false }
        addHolder(member, of: sequence)
        update(sequence) { $0.isSetAside = false }
        set(.inFlight(member, deadline: deadline), of: sequence)
        return true
    }

    // MARK: Answers

    /// Of the messages in the ranges, removes those of which the member is a holder. A member stays a holder of a message
    /// that was delivered to others later, until it is forgotten (see `addHolder`).
    ///
    /// - Parameter ranges: Ascending and disjoint.
    /// - Returns: For each removed message, the member to which it was in flight; nil if there was none.
    mutating func acknowledge(_ ranges: [SequenceRange], by member: MemberID) -> [MemberID?] {
        guard let candidates = held[member] else { return [] }
        work += candidates.count
        // The cheaper of two ways: to look up each sequence of the ranges, or to compare each candidate with the
        // ranges.
        let span = ranges.reduce(UInt64(ranges.count)) { $0.addingClamped($1.last - $1.first) }
        let sequences =
            span < UInt64(candidates.count)
            ? ranges.flatMap { ($0.first...$0.last).filter(candidates.contains) }
            : candidates.filter(ranges.containsSequence).sorted()
        return sequences.map { sequence in
            defer { remove(sequence) }
            if case .inFlight(let holder, _)? = messages[sequence]?.state { return holder }
            return nil
        }
    }
}

extension UInt64 {
    fileprivate func addingClamped(_ other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }
}

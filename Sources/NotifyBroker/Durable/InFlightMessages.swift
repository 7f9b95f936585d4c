import Algorithms
import DequeModule
import NotifyLog
import NotifyWire

/// The messages above the cursor that were delivered or skipped, in ascending order of sequence.
struct InFlightMessages {
    private struct Message {
        var sequence: UInt64
        var member: MemberID
        /// The size of the frame; 0 for a message that is skipped.
        var bytes: UInt32
        var delivered: CoarseTime
        var isAcknowledged: Bool
    }

    /// A message in flight that was taken out.
    struct Taken: Equatable {
        var sequence: UInt64
        var member: MemberID
        var bytes: UInt32
        var delivered: CoarseTime
    }

    private var messages: Deque<Message> = []
    /// The total size of the frames, including those of acknowledged messages.
    private(set) var bytes = 0
    /// The number of messages that acknowledgements have visited, including messages of other members.
    private(set) var work = 0

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }
    var byteCount: Int { messages.count * MemoryLayout<Message>.stride }
    /// The sequence of the oldest message. After a call of `removeAcknowledged`, that message is unacknowledged.
    var oldest: UInt64? { messages.first?.sequence }

    /// The first unacknowledged message after a sequence, and the time at which the message was delivered.
    func first(after sequence: UInt64, now: Duration) -> (sequence: UInt64, delivered: Duration)? {
        var index = 0
        if let oldest, oldest <= sequence { index = messages.partitioningIndex { $0.sequence > sequence } }
        while index < messages.count {
            if !messages[index].isAcknowledged {
                return (messages[index].sequence, messages[index].delivered.time(before: now))
            }
            index += 1
        }
        return nil
    }

    /// Adds a message, whose sequence must be higher than all others.
    mutating func append(_ sequence: UInt64, member: MemberID, bytes: UInt32, at time: CoarseTime) {
        self.bytes += Int(bytes)
        messages.append(
            Message(sequence: sequence, member: member, bytes: bytes, delivered: time, isAcknowledged: false))
    }

    /// Adds messages. Their sequences must be higher than all others.
    ///
    /// - Parameter bytes: The sizes of all frames.
    mutating func append(_ entries: ArraySlice<LogBlock.Entry>, member: MemberID, bytes: Int, at time: CoarseTime) {
        self.bytes += bytes
        messages.append(
            contentsOf: entries.lazy.map { entry in
                Message(
                    sequence: entry.sequence, member: member, bytes: entry.length, delivered: time,
                    isAcknowledged: false)
            })
    }

    /// Adds a message that was acknowledged earlier, whose sequence must be higher than all others.
    mutating func appendAcknowledged(_ sequence: UInt64, member: MemberID, at time: CoarseTime) {
        messages.append(
            Message(sequence: sequence, member: member, bytes: 0, delivered: time, isAcknowledged: true))
    }

    // MARK: Taking out

    /// Takes out a message that is in flight to a member, as if the message were acknowledged.
    mutating func take(_ sequence: UInt64, from member: MemberID) -> Taken? {
        guard let index = index(of: sequence), messages[index].member == member else { return nil }
        return take(at: index)
    }

    /// Takes out a message, as if it were acknowledged.
    mutating func take(_ sequence: UInt64) -> Taken? { index(of: sequence).flatMap { take(at: $0) } }

    /// Takes out the oldest message that is not acknowledged.
    mutating func takeOldest() -> Taken? {
        messages.firstIndex { !$0.isAcknowledged }.flatMap { take(at: $0) }
    }

    /// The result of a search for messages to take out.
    struct Found {
        var messages: [Taken] = []
        /// The number of messages that were searched.
        var searched = 0
        /// The last sequence that was searched; nil if all messages were searched.
        var end: UInt64?
    }

    /// Takes out the oldest messages after a sequence that are in flight to one of several members.
    mutating func takeAll(
        from members: Set<MemberID>, after sequence: UInt64, maximumCount: Int, maximumSearched: Int
    ) -> Found {
        var found = Found()
        var index = messages.partitioningIndex { $0.sequence > sequence }
        // A cache of the last comparison, because successive messages often go to one member.
        var last: (id: MemberID, isWanted: Bool)?
        while index < messages.count {
            guard found.searched < maximumSearched, found.messages.count < maximumCount else {
                found.end = index > 0 ? messages[index - 1].sequence : sequence
                break
            }
            found.searched += 1
            let member = messages[index].member
            if !messages[index].isAcknowledged {
                let isWanted = last?.id == member ? last?.isWanted ?? false : members.contains(member)
                last = (member, isWanted)
                if isWanted, let taken = take(at: index) { found.messages.append(taken) }
            }
            index += 1
        }
        return found
    }

    private mutating func take(at index: Int) -> Taken? {
        let message = messages[index]
        guard !message.isAcknowledged else { return nil }
        messages[index].isAcknowledged = true
        return Taken(
            sequence: message.sequence, member: message.member, bytes: message.bytes, delivered: message.delivered)
    }

    private func index(of sequence: UInt64) -> Int? {
        let index = messages.partitioningIndex { $0.sequence >= sequence }
        return index < messages.count && messages[index].sequence == sequence ? index : nil
    }

    // MARK: Acknowledging

    /// Acknowledges those messages in the range that were delivered to the member. Removes these messages at once if
    /// they are the oldest.
    ///
    /// - Returns: The number of messages that were not acknowledged before.
    mutating func acknowledge(_ range: SequenceRange, member: MemberID) -> Int {
        var count = 0
        var index = 0
        if messages.first?.sequence ?? 0 >= range.first {
            count = removeOldest(through: range.last, member: member)
            work &+= count
        } else {
            index = messages.partitioningIndex { $0.sequence >= range.first }
        }
        let start = index
        while index < messages.count, messages[index].sequence <= range.last {
            if !messages[index].isAcknowledged, messages[index].member == member {
                messages[index].isAcknowledged = true
                count += 1
            }
            index += 1
        }
        work &+= index - start
        return count
    }

    /// Removes the oldest messages up to a sequence, as long as they are in flight to the member.
    ///
    /// - Returns: The number of removed messages.
    private mutating func removeOldest(through sequence: UInt64, member: MemberID) -> Int {
        var (count, removedBytes) = (0, 0)
        while count < messages.count {
            let message = messages[count]
            guard message.sequence <= sequence, message.member == member, !message.isAcknowledged else { break }
            count += 1
            removedBytes += Int(message.bytes)
        }
        messages.removeFirst(count)
        bytes -= removedBytes
        return count
    }

    /// Removes the messages up to a sequence.
    ///
    /// - Returns: For each member, the number of removed messages that were not acknowledged.
    mutating func remove(through sequence: UInt64) -> [MemberID: Int] {
        var counts: [MemberID: Int] = [:]
        while let oldest = messages.first, oldest.sequence <= sequence {
            removeFirst()
            if !oldest.isAcknowledged { counts[oldest.member, default: 0] += 1 }
        }
        return counts
    }

    private mutating func removeFirst() {
        bytes -= Int(messages.removeFirst().bytes)
    }

    /// Removes acknowledged messages from the front.
    mutating func removeAcknowledged() {
        while let oldest = messages.first, oldest.isAcknowledged {
            removeFirst()
        }
    }

    /// Whether a message is acknowledged; nil if it is not in flight.
    func isAcknowledged(_ sequence: UInt64) -> Bool? { index(of: sequence).map { messages[$0].isAcknowledged } }

    /// The acknowledged messages as ranges. The ranges contain no other sequences, because messages that do not match
    /// now may match after an edit.
    var acknowledgedRanges: [SequenceRange] {
        var ranges: [SequenceRange] = []
        for message in messages where message.isAcknowledged {
            if let last = ranges.last?.last, last + 1 == message.sequence {
                ranges[ranges.count - 1].last = message.sequence
            } else {
                ranges.append(SequenceRange(first: message.sequence, last: message.sequence))
            }
        }
        return ranges
    }
}

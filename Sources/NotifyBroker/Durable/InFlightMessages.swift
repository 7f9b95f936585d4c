import Algorithms
import DequeModule
import NotifyWire

/// The messages above the cursor that were delivered or skipped, in ascending order of sequence.
struct InFlightMessages {
    private struct Message {
        var sequence: UInt64
        var member: MemberID
        var isAcknowledged: Bool
    }

    private var messages: Deque<Message> = []

    var count: Int { messages.count }
    var isEmpty: Bool { messages.isEmpty }
    var byteCount: Int { messages.count * MemoryLayout<Message>.stride }
    /// The sequence of the oldest message. After a call of `removeAcknowledged`, that message is unacknowledged.
    var oldest: UInt64? { messages.first?.sequence }

    /// Adds a message, whose sequence must be higher than all others.
    mutating func append(_ sequence: UInt64, member: MemberID, isAcknowledged: Bool = false) {
        messages.append(Message(sequence: sequence, member: member, isAcknowledged: isAcknowledged))
    }

    /// Acknowledges those messages in the range that were delivered to the member.
    ///
    /// - Returns: The number of messages that were not acknowledged before.
    mutating func acknowledge(_ range: SequenceRange, member: MemberID) -> Int {
        var count = 0
        var index =
            messages.first?.sequence ?? 0 >= range.first
            ? 0 : messages.partitioningIndex { $0.sequence >= range.first }
        while index < messages.count, messages[index].sequence <= range.last {
            if !messages[index].isAcknowledged, messages[index].member == member {
                messages[index].isAcknowledged = true
                count += 1
            }
            index += 1
        }
        return count
    }

    /// Removes the messages up to a sequence.
    ///
    /// - Returns: The number of removed messages that were not acknowledged.
    mutating func remove(through sequence: UInt64) -> Int {
        var count = 0
        while let oldest = messages.first, oldest.sequence <= sequence {
            messages.removeFirst()
            count += oldest.isAcknowledged ? 0 : 1
        }
        return count
    }

    /// Removes acknowledged messages from the front.
    mutating func removeAcknowledged() {
        while let oldest = messages.first, oldest.isAcknowledged {
            messages.removeFirst()
        }
    }

    /// Whether a message is acknowledged; nil if it is not in flight.
    func isAcknowledged(_ sequence: UInt64) -> Bool? {
        let index = messages.partitioningIndex { $0.sequence >= sequence }
        guard index < messages.count, messages[index].sequence == sequence else { return nil }
        return messages[index].isAcknowledged
    }

    /// The acknowledged messages as ranges, which contain no other sequences: messages that do not match may match
    /// after an edit.
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

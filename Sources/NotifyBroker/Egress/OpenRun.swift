import NIOCore
import NotifyLog
import NotifyWire

/// Consecutive deliver frames in one source, for one destination.
struct OpenRun {
    /// The destination of a reader's messages, and the fields of the run's header.
    struct Destination: Equatable {
        var connection: ConnectionSlot
        /// The number that the client assigned to the subscription.
        var subscription: UInt32
        var isRedelivery: Bool
        /// The number of the delivery: 1, and the recorded failures.
        var delivery: UInt32 = 1
    }

    let destination: Destination
    let source: UInt32
    let start: Int
    private(set) var end: Int
    private(set) var count: UInt32 = 1

    init(_ entry: LogBlock.Entry, in source: UInt32, to destination: Destination) {
        self.destination = destination
        self.source = source
        start = Int(entry.offset)
        end = start + Int(entry.length)
    }

    /// Extends the run by an entry that directly follows the run in the same source and has the same destination.
    ///
    /// - Returns: False if the entry does not extend the run.
    mutating func extend(with entry: LogBlock.Entry, in source: UInt32, to destination: Destination) -> Bool {
        guard self.source == source, end == Int(entry.offset), self.destination == destination else { return false }
        end += Int(entry.length)
        count += 1
        return true
    }

    func writeHeader(to buffer: inout ByteBuffer) {
        Run(
            subscription: destination.subscription, count: count, isRedelivery: destination.isRedelivery,
            delivery: destination.delivery
        ).write(to: &buffer)
    }
}

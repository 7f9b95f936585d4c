import NIOCore
import NotifyLog
import NotifyWire

/// Deliver frames of one reader that lie back to back in one source.
struct OpenRun {
    /// Where a reader's messages go, and under which header.
    struct Destination: Equatable {
        var connection: ConnectionSlot
        /// The client's number for the subscription.
        var subscription: UInt32
        var isRedelivery: Bool
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

    /// Takes in the entry, if it directly follows and goes to the same place.
    mutating func extend(with entry: LogBlock.Entry, in source: UInt32, to destination: Destination) -> Bool {
        guard self.source == source, end == Int(entry.offset), self.destination == destination else { return false }
        end += Int(entry.length)
        count += 1
        return true
    }

    func writeHeader(to buffer: inout ByteBuffer) {
        Run(subscription: destination.subscription, count: count, isRedelivery: destination.isRedelivery)
            .write(to: &buffer)
    }
}

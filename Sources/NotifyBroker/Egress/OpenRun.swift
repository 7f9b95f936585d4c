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
        /// The number of the delivery: 1 plus the recorded failures of the message.
        var delivery: UInt32 = 1
    }

    /// Deliver frames, back to back, as they are in a block.
    struct Frames {
        let start: Int
        let end: Int
        let count: UInt32

        @inline(__always)
        init(_ entry: LogBlock.Entry) {
            (start, count) = (Int(entry.offset), 1)
            end = start + Int(entry.length)
        }

        /// - Parameter entries: Neighbors in a block, at least one.
        init(_ entries: ArraySlice<LogBlock.Entry>) {
            let last = entries[entries.endIndex - 1]
            (start, end) = (Int(entries[entries.startIndex].offset), Int(last.offset) + Int(last.length))
            count = UInt32(entries.count)
        }
    }

    let destination: Destination
    let source: UInt32
    let start: Int
    private(set) var end: Int
    private(set) var count: UInt32

    init(_ frames: Frames, in source: UInt32, to destination: Destination) {
        self.destination = destination
        self.source = source
        (start, end) = (frames.start, frames.end)
        count = frames.count
    }

    /// Extends the run by frames that directly follow the run in the same source and have the same destination.
    ///
    /// - Returns: False if the frames do not extend the run.
    @inline(__always)
    mutating func extend(with frames: Frames, in source: UInt32, to destination: Destination) -> Bool {
        guard self.source == source, end == frames.start, self.destination == destination else { return false }
        end = frames.end
        count += frames.count
        return true
    }

    func writeHeader(to buffer: inout ByteBuffer) {
        Run(
            subscription: destination.subscription, count: count, isRedelivery: destination.isRedelivery,
            delivery: destination.delivery
        ).write(to: &buffer)
    }
}

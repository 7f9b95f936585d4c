import NIOCore
import NotifyWire
import Testing

/// What came out of a connection.
enum Received: Equatable {
    case welcome(Welcome)
    case receipt(Receipt)
    case subscribed(Subscribed)
    case detached(Detached)
    case removed(Removed)
    case pong(Pong)
    case listEntry(ListEntry)
    case listEnd(ListEnd)
    case statistics(StatisticsReport)
    case message(ReceivedMessage)
    case snapshot(Snapshot)
    case gap(Gap)
    case error(ErrorFrame)
    case closing(Closing)
}

struct ReceivedMessage: Equatable {
    var sequence: UInt64
    var name: String
    var object: String
    var payload: [UInt8]
    var uid: UInt32
    /// The durable subscription whose run it is in; 0 for the connection's volatile ones.
    var subscription: UInt32
    var isRedelivery: Bool
}

/// Makes frames of output again, and checks that runs are what they say.
struct OutputReader {
    private var run: Run?
    private var left: UInt32 = 0

    mutating func read(_ bytes: ByteBuffer) -> [Received] {
        var received: [Received] = []
        bytes.withUnsafeReadableBytes { bytes in
            var used = 0
            do {
                let decoder = FrameDecoder(maximumBodyBytes: 1 << 27)
                while let frame = try decoder.next(in: UnsafeRawBufferPointer(rebasing: bytes[used...])) {
                    used += frame.size
                    if let one = try read(frame) { received.append(one) }
                }
            } catch {
                Issue.record("the broker sent a broken frame: \(error)")
            }
            #expect(used == bytes.count, "output ends in the middle of a frame")
        }
        return received
    }

    private mutating func read(_ frame: FrameDecoder.Frame) throws -> Received? {
        guard let kind = FrameKind(rawValue: frame.kind) else { throw WireError(.unknownFrame, "kind \(frame.kind)") }
        if left > 0, kind != .deliver, try !(kind == .error && ErrorFrame(frame).isFatal) {
            Issue.record("\(kind) stands within a run")
        }
        switch kind {
        case .run, .redelivery:
            let run = try Run(frame)
            #expect(run.count > 0, "an empty run")
            self.run = run
            left = run.count
            return nil
        case .deliver: return .message(try message(frame))
        case .welcome: return .welcome(try Welcome(frame))
        case .receipt: return .receipt(try Receipt(frame))
        case .subscribed: return .subscribed(try Subscribed(frame))
        case .detached: return .detached(try Detached(frame))
        case .removed: return .removed(try Removed(frame))
        case .pong: return .pong(try Pong(frame))
        case .listEntry: return .listEntry(try ListEntry(frame))
        case .listEnd: return .listEnd(try ListEnd(frame))
        case .statisticsReport: return .statistics(try StatisticsReport(frame))
        case .snapshot: return .snapshot(try Snapshot(frame))
        case .gap: return .gap(try Gap(frame))
        case .error: return .error(try ErrorFrame(frame))
        case .closing: return .closing(try Closing(frame))
        case .hello, .post, .subscribe, .detach, .remove, .acknowledge, .credit, .ping, .list, .statistics, .dropped:
            throw WireError(.unknownFrame, "\(kind) travels to the daemon")
        }
    }

    private mutating func message(_ frame: FrameDecoder.Frame) throws -> ReceivedMessage {
        let deliver = try Deliver(reading: frame.body)
        let isInRun = left > 0
        if isInRun { left -= 1 }
        return ReceivedMessage(
            sequence: deliver.stamp.sequence, name: String(decoding: deliver.parts.name, as: UTF8.self),
            object: String(decoding: deliver.parts.object, as: UTF8.self), payload: [UInt8](deliver.parts.payload),
            uid: deliver.stamp.uid, subscription: isInRun ? run?.subscription ?? 0 : 0,
            isRedelivery: isInRun && run?.isRedelivery ?? false)
    }
}

import NIOCore
import NotifyWire

/// One frame from the daemon, as a test looks at it.
enum RawEvent: Equatable {
    case welcome(Welcome)
    case receipt(Receipt)
    case subscribed(Subscribed)
    case detached(Detached)
    case removed(Removed)
    case pong(Pong)
    case listEntry(ListEntry)
    case listEnd(ListEnd)
    case statistics(StatisticsReport)
    case message(RawMessage)
    case snapshot(Snapshot)
    case gap(Gap)
    case error(ErrorFrame)
    case closing(Closing)

    /// Reads any frame but a run header, which only says what the deliveries after it are.
    init(_ frame: FrameDecoder.Frame, of run: Run?) throws {
        switch FrameKind(rawValue: frame.kind) {
        case .deliver: self = .message(try RawMessage(frame, of: run))
        case .welcome: self = .welcome(try Welcome(frame))
        case .receipt: self = .receipt(try Receipt(frame))
        case .snapshot: self = .snapshot(try Snapshot(frame))
        case .subscribed: self = .subscribed(try Subscribed(frame))
        case .detached: self = .detached(try Detached(frame))
        case .removed: self = .removed(try Removed(frame))
        case .pong: self = .pong(try Pong(frame))
        case .listEntry: self = .listEntry(try ListEntry(frame))
        case .listEnd: self = .listEnd(try ListEnd(frame))
        case .statisticsReport: self = .statistics(try StatisticsReport(frame))
        case .gap: self = .gap(try Gap(frame))
        case .error: self = .error(try ErrorFrame(frame))
        case .closing: self = .closing(try Closing(frame))
        default: throw WireError(.unknownFrame, "the daemon sent a frame of kind \(frame.kind)")
        }
    }
}

/// A delivered message.
struct RawMessage: Equatable {
    var stamp: Stamp
    var name: String
    var object: String
    var headers: [UInt8]
    var payload: [UInt8]
    /// The durable subscription it was handed to; nil where it is the volatile ones'.
    var subscription: UInt32?
    var isRedelivery: Bool

    var sequence: UInt64 { stamp.sequence }
    var text: String { String(decoding: payload, as: UTF8.self) }

    init(_ frame: FrameDecoder.Frame, of run: Run?) throws {
        let deliver = try Deliver(reading: frame.body)
        stamp = deliver.stamp
        name = String(decoding: deliver.parts.name, as: UTF8.self)
        object = String(decoding: deliver.parts.object, as: UTF8.self)
        headers = Array(deliver.parts.headers)
        payload = Array(deliver.parts.payload)
        subscription = run?.subscription
        isRedelivery = run?.isRedelivery ?? false
    }
}

package import NIOCore
package import NotifyWire

/// A frame from the daemon. Run headers are merged into the messages that follow them.
package enum Received: Equatable, Sendable {
    case welcome(Welcome)
    case receipt(Receipt)
    case subscribed(Subscribed)
    case detached(Detached)
    case removed(Removed)
    case pong(Pong)
    case subscriptionEntry(SubscriptionEntry)
    case clientEntry(ClientEntry)
    case nameEntry(NameEntry)
    case postEntry(PostEntry)
    case traceEntry(TraceEntry)
    case durableEntry(DurableEntry)
    case storedNameEntry(StoredNameEntry)
    case durableDescription(DurableDescription)
    case listEnd(ListEnd)
    /// The messages of the page follow, with the subscription 0.
    case logPage(LogPage)
    case found(Found)
    case statistics(StatisticsReport)
    case message(ReceivedMessage)
    case gap(Gap)
    case deadline(DeadlineNotice)
    case error(ErrorFrame)
    case closing(Closing)
    case reloaded(Reloaded)
    case policyDecision(PolicyDecision)
    case backupReady(BackupReady)
    case backupChunk(BackupChunk)
    case purged(Purged)
    case checkProgress(CheckProgress)
    case checkReport(CheckReport)
    case deadLettersDone(DeadLettersDone)
    case serving(Serving)
    case servingEnded(ServingEnded)
    case serviceReply(ServiceReply)
    case serviceCall(ReceivedServiceCall)
    case serviceCallEnded(ServiceCallEnded)
    /// The values of the page follow, with the subscription 0.
    case valuePage(ValuePage)
    case valuesCleared(ValuesCleared)
    case announced(Announced)

    /// Decodes any frame except deliveries and run headers.
    fileprivate init(_ kind: FrameKind, _ frame: FrameDecoder.Frame) throws {
        switch kind {
        case .welcome: self = .welcome(try Welcome(frame))
        case .receipt: self = .receipt(try Receipt(frame))
        case .subscribed: self = .subscribed(try Subscribed(frame))
        case .detached: self = .detached(try Detached(frame))
        case .removed: self = .removed(try Removed(frame))
        case .pong: self = .pong(try Pong(frame))
        case .subscriptionEntry: self = .subscriptionEntry(try SubscriptionEntry(frame))
        case .clientEntry: self = .clientEntry(try ClientEntry(frame))
        case .nameEntry: self = .nameEntry(try NameEntry(frame))
        case .postEntry: self = .postEntry(try PostEntry(frame))
        case .traceEntry: self = .traceEntry(try TraceEntry(frame))
        case .logPage: self = .logPage(try LogPage(frame))
        case .found: self = .found(try Found(frame))
        case .durableEntry: self = .durableEntry(try DurableEntry(frame))
        case .storedNameEntry: self = .storedNameEntry(try StoredNameEntry(frame))
        case .durableDescription: self = .durableDescription(try DurableDescription(frame))
        case .listEnd: self = .listEnd(try ListEnd(frame))
        case .statisticsReport: self = .statistics(try StatisticsReport(frame))
        case .gap: self = .gap(try Gap(frame))
        case .deadline: self = .deadline(try DeadlineNotice(frame))
        case .error: self = .error(try ErrorFrame(frame))
        case .closing: self = .closing(try Closing(frame))
        case .reloaded: self = .reloaded(try Reloaded(frame))
        case .backupReady: self = .backupReady(try BackupReady(frame))
        case .backupChunk: self = .backupChunk(try BackupChunk(frame))
        case .purged: self = .purged(try Purged(frame))
        case .policyDecision: self = .policyDecision(try PolicyDecision(frame))
        case .checkProgress: self = .checkProgress(try CheckProgress(frame))
        case .checkReport: self = .checkReport(try CheckReport(frame))
        case .deadLettersDone: self = .deadLettersDone(try DeadLettersDone(frame))
        case .serving: self = .serving(try Serving(frame))
        case .servingEnded: self = .servingEnded(try ServingEnded(frame))
        case .serviceReply: self = .serviceReply(try ServiceReply(frame))
        case .serviceCall: self = .serviceCall(try ReceivedServiceCall(frame))
        case .serviceCallEnded: self = .serviceCallEnded(try ServiceCallEnded(frame))
        case .valuePage: self = .valuePage(try ValuePage(frame))
        case .valuesCleared: self = .valuesCleared(try ValuesCleared(frame))
        case .announced: self = .announced(try Announced(frame))
        default: throw ReceivedError(description: "the daemon sent a frame of the kind \(kind)")
        }
    }
}

/// A delivered message.
package struct ReceivedMessage: Equatable, Sendable {
    package var stamp: Stamp
    package var name: String
    package var object: String
    package var headers: [UInt8]
    package var payload: [UInt8]
    /// The durable subscription of the run that contains the message; 0 for volatile subscriptions.
    package var subscription: UInt32
    package var isRedelivery: Bool
    /// The number of this delivery to a durable subscription; 1 for volatile subscriptions.
    package var delivery: UInt32

    package var sequence: UInt64 { stamp.sequence }
    package var uid: UInt32 { stamp.uid }
    package var text: String { String(decoding: payload, as: UTF8.self) }

    fileprivate init(_ frame: FrameDecoder.Frame, in run: Run?) throws {
        let decoded = try Delivery(reading: frame.body)
        stamp = decoded.stamp
        name = String(decoding: decoded.parts.name, as: UTF8.self)
        object = String(decoding: decoded.parts.object, as: UTF8.self)
        headers = Array(decoded.parts.headers)
        payload = Array(decoded.parts.payload)
        subscription = run?.subscription ?? 0
        isRedelivery = run?.isRedelivery ?? false
        delivery = run?.delivery ?? 1
    }
}

/// A request that the daemon has handed to a server.
package struct ReceivedServiceCall: Equatable, Sendable {
    package var call: UInt64
    package var server: UInt32
    package var timeoutMilliseconds: UInt32
    package var stamp: Stamp
    package var name: String
    package var headers: [UInt8]
    package var payload: [UInt8]

    package var text: String { String(decoding: payload, as: UTF8.self) }

    fileprivate init(_ frame: FrameDecoder.Frame) throws {
        let decoded = try ServiceCall(frame)
        call = decoded.call
        server = decoded.server
        timeoutMilliseconds = decoded.timeoutMilliseconds
        stamp = decoded.stamp
        name = String(decoding: decoded.parts.name, as: UTF8.self)
        headers = Array(decoded.parts.headers)
        payload = Array(decoded.parts.payload)
    }
}

/// A violation of the protocol by the daemon.
package struct ReceivedError: Error, CustomStringConvertible {
    package var description: String
}

/// Reads the frames of one connection, and checks that runs are complete.
package struct ReceivedReader {
    private var frames = FrameReader()
    /// The current run. The count of the run is the number of messages that are still missing.
    private var run: Run?

    package init() {}

    /// Whether no unread bytes are left.
    package var isEmpty: Bool { frames.isEmpty }

    package mutating func append(_ received: some Sequence<UInt8>) { frames.append(received) }

    package mutating func append(_ received: ByteBuffer) { frames.append(received) }

    /// Returns the next frame, or nil if that frame is incomplete.
    ///
    /// - Throws: `WireError` for a frame that cannot be decoded, `ReceivedError` for a frame that the protocol does not
    ///   allow at this point.
    package mutating func next() throws -> Received? {
        var run = run
        defer { self.run = run }
        while let step = try frames.next({ frame in try Self.read(frame, &run) }) {
            if let received = step { return received }
        }
        return nil
    }

    /// Decodes one frame; returns nil for a run header.
    private static func read(_ frame: FrameDecoder.Frame, _ run: inout Run?) throws -> Received? {
        guard let kind = FrameKind(rawValue: frame.kind) else {
            throw ReceivedError(description: "the daemon sent a frame of the unknown kind \(frame.kind)")
        }
        switch kind {
        case .run, .redelivery:
            try checkOutside(run, kind)
            let started = try Run(frame)
            if started.count == 0 { throw ReceivedError(description: "the daemon sent an empty run") }
            run = started
            return nil
        case .deliver:
            let message = try ReceivedMessage(frame, in: run)
            if let current = run {
                run?.count -= 1
                if current.count == 1 { run = nil }
            }
            return .message(message)
        default:
            let received = try Received(kind, frame)
            // A fatal error may end the connection before a run is complete.
            if case .error(let error) = received, error.isFatal { return received }
            try checkOutside(run, kind)
            return received
        }
    }

    private static func checkOutside(_ run: Run?, _ kind: FrameKind) throws {
        if let run { throw ReceivedError(description: "\(kind) in a run that lacks \(run.count) messages") }
    }
}

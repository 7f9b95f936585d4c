import WireTestSupport
import NotifyWire

/// A request that was answered with an error.
struct Refused: Error, CustomStringConvertible {
    var frame: ErrorFrame
    var code: ErrorCode? { ErrorCode(rawValue: frame.code) }
    var description: String { "refused with \(frame.code): \(frame.message)" }
}

extension RawClient {
    // MARK: Posting

    /// Sends a post, and returns the request number.
    @discardableResult
    func send(
        post name: String, _ payload: String = "", object: String = "", durability: Durability = .automatic,
        receipt: Bool = true
    ) throws -> UInt64 {
        let request = newRequest()
        try send(
            postFrame(
                request, name: Array(name.utf8), object: Array(object.utf8), payload: Array(payload.utf8), durability,
                receipt: receipt))
        return request
    }

    /// Posts, and waits for the receipt.
    @discardableResult
    func post(
        _ name: String, _ payload: String = "", object: String = "", durability: Durability = .automatic
    ) throws -> Receipt {
        try receipt(of: send(post: name, payload, object: object, durability: durability))
    }

    func receipt(of request: UInt64) throws -> Receipt {
        try answer(to: request, "a receipt") { if case .receipt(let receipt) = $0 { receipt } else { nil } }
    }

    // MARK: Subscribing

    @discardableResult
    func subscribe(
        _ patterns: String..., as number: UInt32 = 1, durable: String = "", from start: LogPosition = .now,
        object: String = "", window: UInt32 = 0, credit: UInt32 = Subscribe.unlimitedCredit
    ) throws -> Subscribed {
        let request = newRequest()
        try send(
            Subscribe(
                request: request, subscription: number, patterns: patterns, object: object, durableName: durable,
                start: start, window: window, credit: credit))
        return try answer(to: request, "subscribed") { if case .subscribed(let it) = $0 { it } else { nil } }
    }

    func detach(_ number: UInt32 = 1) throws {
        let request = newRequest()
        try send(Detach(request: request, subscription: number))
        _ = try answer(to: request, "detached") { if case .detached(let it) = $0 { it } else { nil } }
    }

    func remove(_ durable: String) throws {
        let request = newRequest()
        try send(Remove(request: request, durableName: durable))
        _ = try answer(to: request, "removed") { if case .removed(let it) = $0 { it } else { nil } }
    }

    func acknowledge(_ number: UInt32 = 1, _ ranges: (UInt64, UInt64)...) throws {
        try send(
            Acknowledge(subscription: number, ranges: ranges.map { SequenceRange(first: $0.0, last: $0.1) }))
    }

    /// Acknowledges all delivered messages up to a sequence.
    func acknowledge(_ number: UInt32 = 1, through sequence: UInt64) throws {
        try acknowledge(number, (1, sequence))
    }

    // MARK: Inspecting

    func message(_ what: String = "a message", within limit: Duration = patience) throws -> ReceivedMessage {
        try wait(what, within: limit) { if case .message(let message) = $0 { message } else { nil } }
    }

    func ping() throws {
        let request = newRequest()
        try send(Ping(request: request))
        _ = try answer(to: request, "a pong") { if case .pong(let pong) = $0 { pong } else { nil } }
    }

    /// The daemon's counters.
    func statistics() throws -> [String: UInt64] {
        let request = newRequest()
        try send(StatisticsRequest(request: request))
        let report = try answer(to: request, "statistics") {
            if case .statistics(let report) = $0 { report } else { nil }
        }
        return Dictionary(uniqueKeysWithValues: report.counters.map { ($0.name, $0.value) })
    }

    /// The durable subscriptions that the daemon lists for this client.
    func list() throws -> [SubscriptionEntry] {
        let request = newRequest()
        try send(ListRequest(request: request))
        var entries: [SubscriptionEntry] = []
        while true {
            let entry = try wait("the list") { event -> SubscriptionEntry?? in
                switch event {
                case .subscriptionEntry(let entry) where entry.request == request: .some(entry)
                case .listEnd(let end) where end.request == request: .some(nil)
                default: nil
                }
            }
            guard let entry else { return entries }
            entries.append(entry)
        }
    }

    /// Returns the next error from the daemon, whether it answers a request or not.
    func error(_ what: String = "an error") throws -> ErrorFrame {
        try wait(what) { if case .error(let error) = $0 { error } else { nil } }
    }

    /// Waits for the answer to a request. Throws `Refused` if it is an error.
    func answer<Found>(to request: UInt64, _ what: String, _ find: (Received) -> Found?) throws -> Found {
        try wait("\(what) to request \(request)") { event in
            if case .error(let error) = event, error.request == request || error.isFatal {
                throw Refused(frame: error)
            }
            // Request numbers are unique within a connection, so frames with other numbers are other answers.
            guard event.request == request else { return nil }
            return find(event)
        }
    }
}

extension Received {
    /// The number of the request that the frame answers; nil if the frame answers none.
    var request: UInt64? {
        switch self {
        case .receipt(let frame): frame.request
        case .subscribed(let frame): frame.request
        case .deadLettersDone(let frame): frame.request
        case .detached(let frame): frame.request
        case .removed(let frame): frame.request
        case .pong(let frame): frame.request
        case .subscriptionEntry(let frame): frame.request
        case .clientEntry(let frame): frame.request
        case .nameEntry(let frame): frame.request
        case .durableEntry(let frame): frame.request
        case .durableDescription(let frame): frame.request
        case .postEntry(let frame): frame.request
        case .traceEntry(let frame): frame.request
        case .storedNameEntry(let frame): frame.request
        case .listEnd(let frame): frame.request
        case .logPage(let frame): frame.request
        case .found(let frame): frame.request
        case .statistics(let frame): frame.request
        case .error(let frame): frame.request
        case .reloaded(let frame): frame.request
        case .backupReady(let frame): frame.request
        case .backupChunk(let frame): frame.request
        case .policyDecision(let frame): frame.request
        case .purged(let frame): frame.request
        case .checkProgress(let frame): frame.request
        case .checkReport(let frame): frame.request
        case .serving(let frame): frame.request
        case .servingEnded(let frame): frame.request
        case .serviceReply(let frame): frame.request
        case .valuePage(let frame): frame.request
        case .valuesCleared(let frame): frame.request
        case .announced(let frame): frame.request
        case .welcome, .message, .gap, .deadline, .closing, .serviceCall, .serviceCallEnded: nil
        }
    }
}

import NotifyCenter
import NotifyWire

/// The parameters of a subscription, checked against the protocol's rules.
struct SubscriptionSpec: Sendable {
    var patterns: [NamePattern]
    var object: String?
    var kind: NotificationClient.SubscriptionKind.Storage
    /// The position at which a volatile or a new durable subscription begins.
    var start = LogPosition.now
    /// The settings of a new durable subscription.
    private(set) var settings = DurableSettingChanges()
    /// The sequence at which the snapshot of a volatile subscription begins; nil if it has none.
    var snapshotStart: UInt64?
    /// The number of messages after which the subscription ends; nil for no limit.
    var limit: Int?

    init(
        patterns: [String], object: String?, kind: NotificationClient.SubscriptionKind, limit: Int?
    ) throws(NotifyError) {
        guard (1...Limits.patternsPerSubscription).contains(patterns.count) else {
            throw NotifyError(
                .invalidArgument,
                "a subscription must have 1 to \(Limits.patternsPerSubscription) patterns, not \(patterns.count)")
        }
        self.patterns = []
        for pattern in patterns { self.patterns.append(try NamePattern(checking: pattern)) }
        if let object, object.utf8.count > Limits.objectBytes { throw .invalidObject(bytes: object.utf8.count) }
        self.object = object.flatMap { $0.isEmpty ? nil : $0 }
        self.kind = kind.storage
        self.limit = limit
        switch kind.storage {
        case .volatile(let start, _, _, _): self.start = try start.position()
        case .durable(let durable):
            self.start = try durable.start.position()
            settings = try durable.settings.changes()
        }
        try checkBounds()
    }

    private func checkBounds() throws(NotifyError) {
        // A limit of 0 creates a durable subscription without receiving from it.
        if let limit, limit < (isDurable ? 0 : 1) {
            throw NotifyError(.invalidArgument, "the limit must be at least \(isDurable ? 0 : 1), not \(limit)")
        }
        guard let durable else { return }
        try NotifyError.checking { () throws(WireError) in try Limits.validateSubscriptionName(durable.name) }
        if let window = durable.window, !(1...Int(Limits.maximumWindow)).contains(window) {
            throw NotifyError(
                .invalidArgument, "the window must be 1 to \(Limits.maximumWindow) messages, not \(window)")
        }
    }

    /// The parameters of a durable subscription; nil for a volatile one.
    private var durable: NotificationClient.SubscriptionKind.Durable? {
        if case .durable(let durable) = kind { durable } else { nil }
    }

    var isDurable: Bool { durable != nil }

    var window: Int { durable.map { $0.window ?? Int(Limits.defaultWindow) } ?? 0 }

    /// The window to request, with room for the messages that may be fetched ahead.
    var requestedWindow: Int { mayFetchAhead ? window + Self.fetchedAhead : window }

    /// The number of messages that are fetched before a handler is free. Several are fetched at a time, because each
    /// wake-up of the connection takes time from short handlers.
    static let fetchedAhead = 8

    /// Whether messages may be fetched before a handler is free, if the settings of the subscription permit it.
    var mayFetchAhead: Bool { extendsDeadlines && durable?.sharing == .exclusive }

    var extendsDeadlines: Bool { durable?.extendsDeadlines ?? false }

    var bufferPolicy: DeliveryBuffer.Policy {
        guard case .volatile(_, let messages, let bytes, let whenFull) = kind else { return .windowed }
        let bounds = DeliveryBuffer.Bounds(messages: messages, bytes: bytes)
        return whenFull == .pauseReading ? .pauseReading(bounds) : .dropOldest(bounds)
    }

    var durableName: String? { durable?.name }

    /// The frame that creates the durable subscription without attaching to it.
    var creation: CreateDurable {
        CreateDurable(frame(request: 0, number: 1, credit: 0, maximumWindow: Limits.maximumWindow))
    }

    /// The frame that requests the subscription. `maximumWindow` is the daemon's limit. Without patterns, the frame
    /// attaches to a durable subscription that exists.
    ///
    /// - Parameters:
    ///   - isFirst: Whether this is the first attachment. Later ones do not take the subscription over.
    ///   - mayCreate: Whether the daemon creates a durable subscription that does not exist.
    func frame(
        request: UInt64, number: UInt32, credit: UInt32, maximumWindow: UInt32, namesPatterns: Bool = true,
        isFirst: Bool = true, mayCreate: Bool = true
    ) -> Subscribe {
        var frame = Subscribe(
            request: request, subscription: number, patterns: namesPatterns ? patterns.map(\.string) : [],
            object: namesPatterns ? object ?? "" : "", credit: credit)
        if let durable {
            frame.durableName = durable.name
            frame.start = start
            frame.sharing = NotifyWire.DurableSharing(durable.sharing)
            frame.takesOver = durable.takesOver && isFirst
            frame.settings = settings
            frame.creation = mayCreate ? .ifMissing : .never
            frame.window = min(UInt32(requestedWindow), maximumWindow)
        }
        return frame
    }
}

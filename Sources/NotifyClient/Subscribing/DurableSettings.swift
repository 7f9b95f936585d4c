import NotifyWire

extension NotificationClient {
    /// Whether one client or several share the messages of a durable subscription.
    public enum DurableSharing: Hashable, Sendable, CaseIterable {
        /// One client at a time receives all messages.
        case exclusive
        /// Several clients are members of a group. Each message goes to one of them.
        case group
    }

    /// Settings of a durable subscription: when and how often it delivers messages again. If a setting is `nil`, a new
    /// subscription has the default, and an existing one keeps its value.
    public struct DurableSettings: Hashable, Sendable {
        /// The time in which a delivered message must be answered: 100 ms to 30 days, or zero for no limit. The default
        /// is 30 s for a group, and no limit for an exclusive subscription.
        public var deadline: Duration?
        /// The delays after the first failure, the second failure and so on. The last delay repeats. 1 to 16 delays of
        /// at most 30 days. The default is 1 s, 10 s, 1 min.
        public var retryDelays: [Duration]?
        /// The number of failed deliveries after which a message becomes a dead letter; 0 if it never does. The default
        /// is 5 for a group, and 0 for an exclusive subscription.
        public var maximumDeliveries: Int?
        /// The maximum number of messages delivered to all clients together and not answered, at most 65,536; 0 if only
        /// the clients' windows limit it. The default is 0.
        public var maximumInFlight: Int?

        /// Makes settings. An omitted setting is `nil`.
        public init(
            deadline: Duration? = nil, retryDelays: [Duration]? = nil, maximumDeliveries: Int? = nil,
            maximumInFlight: Int? = nil
        ) {
            self.deadline = deadline
            self.retryDelays = retryDelays
            self.maximumDeliveries = maximumDeliveries
            self.maximumInFlight = maximumInFlight
        }
    }
}

extension NotificationClient.DurableSettings {
    init(_ settings: NotifyWire.DurableSettings) {
        self.init(
            deadline: .microseconds(settings.deadlineMicroseconds),
            retryDelays: settings.retryDelays.map { .microseconds($0) },
            maximumDeliveries: Int(settings.maximumDeliveries), maximumInFlight: Int(settings.maximumInFlight))
    }

    /// The settings in the protocol.
    ///
    /// - Throws: `invalidArgument` for values out of range.
    func changes() throws(NotifyError) -> DurableSettingChanges {
        var changes = DurableSettingChanges()
        if let deadline { changes.deadlineMicroseconds = try Self.microseconds(deadline, "deadline") }
        if let retryDelays {
            guard !retryDelays.isEmpty else {
                throw NotifyError(.invalidArgument, "there must be at least one delay between redeliveries")
            }
            for delay in retryDelays { changes.retryDelays.append(try Self.microseconds(delay, "delay")) }
        }
        changes.maximumDeliveries = try Self.count(maximumDeliveries, "deliveries", limit: .max)
        changes.maximumInFlight = try Self.count(
            maximumInFlight, "messages in flight", limit: DurableSettingChanges.maximumInFlightLimit)
        try NotifyError.checking { () throws(WireError) in try changes.validate() }
        return changes
    }

    private static func microseconds(_ duration: Duration, _ what: String) throws(NotifyError) -> UInt64 {
        guard duration >= .zero else { throw NotifyError(.invalidArgument, "the \(what) must not be negative") }
        // A duration below a microsecond must not become zero: a deadline of zero is no limit, and a delay of zero no
        // wait.
        return duration > .zero ? max(1, duration.clampedMicroseconds) : 0
    }

    private static func count(_ count: Int?, _ what: String, limit: UInt32) throws(NotifyError) -> UInt32? {
        guard let count else { return nil }
        guard let number = UInt32(exactly: count), number <= limit else {
            throw NotifyError(.invalidArgument, "the number of \(what) must be 0 to \(limit), not \(count)")
        }
        return number
    }
}

extension NotifyWire.DurableSharing {
    init(_ sharing: NotificationClient.DurableSharing) {
        self =
            switch sharing {
            case .exclusive: .exclusive
            case .group: .group
            }
    }
}

extension NotificationClient.DurableSharing {
    init(_ sharing: NotifyWire.DurableSharing) {
        self =
            switch sharing {
            case .exclusive: .exclusive
            case .group: .group
            }
    }
}

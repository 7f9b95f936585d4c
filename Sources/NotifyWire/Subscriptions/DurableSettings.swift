import NIOCore

/// The sharing of a durable subscription: one client receives its messages, or several clients share them.
package enum DurableSharing: UInt8, CaseIterable, Sendable {
    /// One client at a time receives all messages.
    case exclusive = 0
    /// Several clients, the members of the group, each receive some of the messages.
    case group = 1
}

/// The settings of a durable subscription: how it shares its messages, and delivers them again.
package struct DurableSettings: Equatable, Sendable {
    package var sharing: DurableSharing
    /// The time in which a delivered message must be answered, in microseconds; 0 for no limit.
    package var deadlineMicroseconds: UInt64
    /// The delays after the first failure, the second and so on, in microseconds. The last one repeats. Never empty.
    package var retryDelays: [UInt64]
    /// The number of failures after which a message becomes a dead letter; 0 if it never does.
    package var maximumDeliveries: UInt32
    /// The maximum number of messages in flight to all clients together; 0 for as many as their windows permit.
    package var maximumInFlight: UInt32

    package init(
        sharing: DurableSharing = .exclusive, deadlineMicroseconds: UInt64 = 0, retryDelays: [UInt64],
        maximumDeliveries: UInt32 = 0, maximumInFlight: UInt32 = 0
    ) {
        self.sharing = sharing
        self.deadlineMicroseconds = deadlineMicroseconds
        self.retryDelays = retryDelays
        self.maximumDeliveries = maximumDeliveries
        self.maximumInFlight = maximumInFlight
    }

    /// The settings of a new subscription, unless its client chooses others.
    package init(defaultsFor sharing: DurableSharing) {
        let delays: [UInt64] = [1_000_000, 10_000_000, 60_000_000]
        self =
            switch sharing {
            case .exclusive: DurableSettings(retryDelays: delays)
            case .group:
                DurableSettings(
                    sharing: .group, deadlineMicroseconds: 30_000_000, retryDelays: delays, maximumDeliveries: 5)
            }
    }

    /// The settings after a change of the sharing. A deadline or a maximum of deliveries that equals the default of the
    /// earlier sharing becomes the default of the new one.
    package func shared(_ sharing: DurableSharing) -> DurableSettings {
        let (before, after) = (DurableSettings(defaultsFor: self.sharing), DurableSettings(defaultsFor: sharing))
        var settings = self
        settings.sharing = sharing
        if deadlineMicroseconds == before.deadlineMicroseconds {
            settings.deadlineMicroseconds = after.deadlineMicroseconds
        }
        if maximumDeliveries == before.maximumDeliveries { settings.maximumDeliveries = after.maximumDeliveries }
        return settings
    }

    /// The delay before the next delivery of a message, in microseconds.
    ///
    /// - Parameter failures: The recorded failures of the message. A message without failures that is given back has
    ///   the delay of a first failure.
    package func retryDelay(afterFailures failures: UInt32) -> UInt64 {
        retryDelays[min(Int(max(failures, 1)) - 1, retryDelays.count - 1)]
    }

    /// These settings with the values that `changes` contains.
    package func applying(_ changes: DurableSettingChanges) -> DurableSettings {
        DurableSettings(
            sharing: sharing, deadlineMicroseconds: changes.deadlineMicroseconds ?? deadlineMicroseconds,
            retryDelays: changes.retryDelays.isEmpty ? retryDelays : changes.retryDelays,
            maximumDeliveries: changes.maximumDeliveries ?? maximumDeliveries,
            maximumInFlight: changes.maximumInFlight ?? maximumInFlight)
    }

    init(reading body: inout FieldReader) throws(WireError) {
        let kind: UInt8 = try body.integer()
        guard let sharing = DurableSharing(rawValue: kind) else { throw DurableSharing.unknown(kind) }
        let delayCount: UInt8 = try body.integer()
        try body.skip(2)
        self.sharing = sharing
        maximumDeliveries = try body.integer()
        maximumInFlight = try body.integer()
        try body.skip(4)
        deadlineMicroseconds = try body.integer()
        retryDelays = try body.delays(delayCount)
        guard !retryDelays.isEmpty else { throw WireError(.malformedFrame, "settings without a retry delay") }
    }

    func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(sharing.rawValue)
        buffer.writeInteger(UInt8(retryDelays.count))
        buffer.writeLE(UInt16(0))
        buffer.writeLE(maximumDeliveries)
        buffer.writeLE(maximumInFlight)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(deadlineMicroseconds)
        for delay in retryDelays { buffer.writeLE(delay) }
    }
}

/// Settings of a durable subscription that a client chooses. A setting that is nil or empty keeps its value.
package struct DurableSettingChanges: Equatable, Sendable {
    /// The deadline, as in ``DurableSettings``: 0, or from ``minimumDeadline`` to ``maximumSpan``.
    package var deadlineMicroseconds: UInt64?
    /// The retry delays: at most ``maximumRetryDelays``, each at most ``maximumSpan``.
    package var retryDelays: [UInt64]
    package var maximumDeliveries: UInt32?
    /// The maximum number of messages in flight, at most ``maximumInFlightLimit``.
    package var maximumInFlight: UInt32?

    /// The shortest deadline, in microseconds.
    package static let minimumDeadline: UInt64 = 100_000
    /// The longest deadline and retry delay: 30 days in microseconds.
    package static let maximumSpan: UInt64 = 30 * 86_400 * 1_000_000
    package static let maximumRetryDelays = 16
    package static let maximumInFlightLimit: UInt32 = 65_536

    package init(
        deadlineMicroseconds: UInt64? = nil, retryDelays: [UInt64] = [], maximumDeliveries: UInt32? = nil,
        maximumInFlight: UInt32? = nil
    ) {
        self.deadlineMicroseconds = deadlineMicroseconds
        self.retryDelays = retryDelays
        self.maximumDeliveries = maximumDeliveries
        self.maximumInFlight = maximumInFlight
    }

    package var isEmpty: Bool { self == DurableSettingChanges() }

    /// - Throws: `invalidArgument` for values out of range.
    package func validate() throws(WireError) {
        if let deadline = deadlineMicroseconds, deadline != 0,
            !(Self.minimumDeadline...Self.maximumSpan).contains(deadline)
        {
            throw WireError(
                .invalidArgument, "a deadline of \(deadline) µs is not 0 (none), nor from 100 ms to 30 days")
        }
        guard retryDelays.count <= Self.maximumRetryDelays else {
            throw WireError(
                .invalidArgument,
                "\(retryDelays.count) delays between redeliveries; there are at most \(Self.maximumRetryDelays)")
        }
        if let delay = retryDelays.first(where: { $0 > Self.maximumSpan }) {
            throw WireError(.invalidArgument, "a delay of \(delay) µs between redeliveries is over 30 days")
        }
        if let maximumInFlight, maximumInFlight > Self.maximumInFlightLimit {
            throw WireError(
                .invalidArgument,
                "\(maximumInFlight) messages in flight are over the limit of \(Self.maximumInFlightLimit)")
        }
    }

    private static let deadlineFlag: UInt8 = 1
    private static let deliveriesFlag: UInt8 = 2
    private static let inFlightFlag: UInt8 = 4

    init(reading body: inout FieldReader) throws(WireError) {
        let present: UInt8 = try body.integer()
        let delayCount: UInt8 = try body.integer()
        try body.skip(2)
        let deliveries: UInt32 = try body.integer()
        let inFlight: UInt32 = try body.integer()
        try body.skip(4)
        let deadline: UInt64 = try body.integer()
        retryDelays = try body.delays(delayCount)
        guard present & ~(Self.deadlineFlag | Self.deliveriesFlag | Self.inFlightFlag) == 0 else {
            throw WireError(.unsupported, "unknown settings of a durable subscription: \(present)")
        }
        deadlineMicroseconds = present & Self.deadlineFlag == 0 ? nil : deadline
        maximumDeliveries = present & Self.deliveriesFlag == 0 ? nil : deliveries
        maximumInFlight = present & Self.inFlightFlag == 0 ? nil : inFlight
        try validate()
    }

    func write(to buffer: inout ByteBuffer) {
        buffer.writeInteger(
            (deadlineMicroseconds == nil ? 0 : Self.deadlineFlag) | (maximumDeliveries == nil ? 0 : Self.deliveriesFlag)
                | (maximumInFlight == nil ? 0 : Self.inFlightFlag))
        buffer.writeInteger(UInt8(retryDelays.count))
        buffer.writeLE(UInt16(0))
        buffer.writeLE(maximumDeliveries ?? 0)
        buffer.writeLE(maximumInFlight ?? 0)
        buffer.writeLE(UInt32(0))
        buffer.writeLE(deadlineMicroseconds ?? 0)
        for delay in retryDelays { buffer.writeLE(delay) }
    }
}

extension DurableSharing {
    static func unknown(_ kind: UInt8) -> WireError {
        WireError(.unsupported, "unknown sharing \(kind): expected 0 (exclusive) or 1 (group)")
    }
}

extension FieldReader {
    fileprivate mutating func delays(_ count: UInt8) throws(WireError) -> [UInt64] {
        var delays: [UInt64] = []
        for _ in 0..<count { delays.append(try integer()) }
        return delays
    }
}

import NotifyWire

/// The column `settings` of a subscription: the sharing, the deadline, the maximum deliveries, the maximum in flight,
/// and the delays between deliveries, as decimal numbers with spaces between them.
extension DurableSettings {
    var encoded: String {
        ([UInt64(sharing.rawValue), deadlineMicroseconds, UInt64(maximumDeliveries), UInt64(maximumInFlight)]
            + retryDelays)
            .map(String.init).joined(separator: " ")
    }

    /// Returns nil unless the text is at least five decimal numbers that are possible for the types of the settings.
    init?(encoded: String) {
        let numbers = encoded.split(separator: " ").map { UInt64($0) }
        guard numbers.count > 4, !numbers.contains(nil) else { return nil }
        let values = numbers.compactMap { $0 }
        guard let sharing = UInt8(exactly: values[0]).flatMap({ DurableSharing(rawValue: $0) }),
            let deliveries = UInt32(exactly: values[2]), let inFlight = UInt32(exactly: values[3])
        else { return nil }
        self.init(
            sharing: sharing, deadlineMicroseconds: values[1], retryDelays: Array(values[4...]),
            maximumDeliveries: deliveries, maximumInFlight: inFlight)
    }
}

import NotifyWire

extension NotifyClient {
    /// The version of this library, and of the daemon and the tools it is released with.
    public static let version = notifydVersion

    /// Bytes of a payload that no daemon takes more than. Most are configured to less; by default it is 1 MiB.
    public static let maximumPayloadBytes = Limits.maximumPayloadBytes
}

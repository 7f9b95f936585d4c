import NotifyWire

extension NotificationClient {
    /// The version of this library, and of the daemon and the tools of the same release.
    public static let version = notifydVersion

    /// The largest payload, in bytes, that any daemon can be configured to accept: 64 MiB. The default limit of a
    /// daemon is 1 MiB.
    public static let maximumPayloadBytes = Limits.maximumPayloadBytes
}

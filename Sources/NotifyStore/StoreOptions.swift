package import NotifyLog

/// The limits of a log.
package struct StoreOptions: Equatable, Sendable {
    /// The rules of retention, and the limits of the log's size.
    package var retention = RetentionPolicy()
    /// The size in bytes of the write-ahead log at which it is checkpointed, earlier if the log is near its limit.
    package var checkpointBytes = 16 * 1024 * 1024
    /// The most rows that one page scans.
    package var pageRows = 1000
    /// The most bytes of frames in one page. A single message may be larger.
    package var pageBytes = 256 * 1024
    /// The most closed segments that one page reads or skips.
    package var pageSegments = 1024
    /// The most bytes for all caches of the names that match a subscription.
    package var filterMemoryBytes = 32 * 1024 * 1024
    /// The most messages in one segment.
    package var segmentMessages = 4096
    /// The most bytes in one segment, as counted by `StoredUsage`. A single message may be larger.
    package var segmentBytes = 1 << 20
    /// How long messages are added to a segment after its first one.
    package var segmentAge = Duration.seconds(60)
    /// The time between two passes over the log that find what the rules no longer keep.
    package var retentionInterval = Duration.seconds(1)
    /// How long a start leaves to clients to attach before their subscriptions expire.
    package var expiryGrace = Duration.seconds(300)
    /// The daemon's files besides those of the log, to which no backup is written.
    package var otherOwnPaths: [String] = []
    /// The clocks by which the age of messages counts.
    package var clock = StoreClock.system
    /// The disk whose free space the log observes.
    package var disk = StoreDisk.system

    package init() {}
}

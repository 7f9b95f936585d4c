package import NotifyLog

/// The settings of a log, with their defaults.
package struct StoreOptions: Equatable, Sendable {
    /// The rules of retention, and the limits of the log's size.
    package var retention = RetentionPolicy()
    /// The size in bytes of the write-ahead log at which it is checkpointed, unless ``LogDisk/checkpointBytes`` is
    /// lower.
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
    /// The time in which a segment takes further messages after its first one.
    package var segmentAge = Duration.seconds(60)
    /// The interval at which the store checks whether a pass of retention is due. Also the shortest time from one pass
    /// to the next, unless the next one is requested.
    package var retentionInterval = Duration.seconds(1)
    /// The time after a change of a value in which a pass begins that writes the changed values to their rows. The longer
    /// it is, the more changes of a value cost only one change of its row: a pass over 100,000 values takes up to a second.
    package var valuePassDelay = Duration.seconds(60)
    /// The number of changes of values after which a pass begins earlier. Limited because the next start reads the changes.
    package var valueChangesPerPass = 2_097_152
    /// The number of changed values after which a pass begins earlier. Limited because each takes some 100 bytes of memory.
    package var changedValuesPerPass = 262_144
    /// The time after a start in which no subscription expires, so that clients can attach first.
    package var expiryGrace = Duration.seconds(300)
    /// The paths of the daemon's other files. Backups to them and to the files of the log are refused.
    package var otherOwnPaths: [String] = []
    /// The clocks that determine the age of messages.
    package var clock = StoreClock.system
    /// The disk whose free space the log observes.
    package var disk = StoreDisk.system

    package init() {}
}

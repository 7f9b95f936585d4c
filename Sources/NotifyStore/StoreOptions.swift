/// How a log is kept.
package struct StoreOptions: Equatable, Sendable {
    /// Messages are refused as `full` once the database holds this many bytes; changes to subscriptions never are.
    package var maximumBytes: UInt64?
    /// Bytes of write-ahead log after which its pages are moved into the database.
    package var checkpointBytes = 16 * 1024 * 1024
    /// Most rows that one page looks at.
    package var pageRows = 1000
    /// Most bytes of frames that one page gives, save that one message always fits.
    package var pageBytes = 256 * 1024
    /// Most closed segments that one page passes over.
    package var pageSegments = 1024
    /// Most bytes that may be spent on caching which names match which subscription.
    package var filterMemoryBytes = 32 * 1024 * 1024

    package init() {}
}

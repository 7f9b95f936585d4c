/// The budget of one tick for reading the tail ring, shared by all readers.
///
/// No connection is served while readers read. The posts of about 3 ms fill the buffer of a socket, and its poster then
/// blocks, so reading must take less time.
struct RingBudget {
    /// The maximum number of entries in a tick: about 2 ms of work, because an entry takes 200 to 300 ns.
    private static let entriesPerTick = 8_192
    /// The maximum number of entries in a tick while connections are queued.
    private static let entriesPerBusyTick = 2_048
    /// The range of each reader's share of the entries.
    private static let entriesPerReader = 16...4096
    /// The maximum work in a tick for resolving the names of entries, in units of ``FairScheduler``.
    private static let resolvingPerTick = 1 << 15

    private var entries: Int
    private let entriesPerReader: Int
    private let workEnd: Int
    /// The entries that the current reader may still read.
    private var readerEntries = 0

    /// - Parameters:
    ///   - readers: The number of readers that share the budget.
    ///   - isBusy: Whether connections are queued.
    ///   - work: The present value of `Subscriptions.work`, a counter that each resolution of a name raises.
    init(readers: Int, isBusy: Bool, work: Int) {
        entries = isBusy ? Self.entriesPerBusyTick : Self.entriesPerTick
        let range = Self.entriesPerReader
        entriesPerReader = min(max(entries / max(1, readers), range.lowerBound), range.upperBound)
        workEnd = work + Self.resolvingPerTick
    }

    /// Begins with the next reader. Returns false if the budget of the tick is used up.
    mutating func beginReader(work: Int) -> Bool {
        readerEntries = min(entriesPerReader, entries)
        return readerEntries > 0 && work < workEnd
    }

    /// Takes an entry from the budget. Returns false if the current reader may not read another one.
    @inline(__always)
    mutating func takeEntry(work: Int) -> Bool {
        guard readerEntries > 0, work < workEnd else { return false }
        readerEntries -= 1
        entries -= 1
        return true
    }
}

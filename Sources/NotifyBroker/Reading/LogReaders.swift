import Algorithms
import NotifyLog

/// All log readers: the readers that may have messages to read, and the sources of the messages.
///
/// Readers near the tail of the log read from a ring of committed messages. Readers further behind read pages, in turn
/// with other purposes: see `PageReads`.
struct LogReaders {
    /// The source from which a reader continues.
    enum Source: Equatable {
        case ring
        case page
        /// The reader has reached the end of the log.
        case end
    }

    private var table = SlotTable<ReaderID, LogReader>()
    private(set) var ring: TailRing
    /// The readers that wait for a page.
    private var pages = PageQueue()
    /// The reader whose page is being read.
    private var reading: ReaderID?
    /// Readers that may have messages to read.
    private var ready: Set<ReaderID> = []
    /// The slot from which the next tick looks for the first reader to continue.
    private var firstSlot: Int32 = 0
    /// Readers for which reading a page failed. They retry when storage works again.
    private var retrying: Set<ReaderID> = []
    /// The live readers, in ascending order of slot. Kept sorted, because every commit iterates over them.
    private(set) var liveReaders: [ReaderID] = []

    init(ring: TailRing) {
        self.ring = ring
    }

    /// A reader in use.
    subscript(id: ReaderID) -> LogReader {
        @inline(__always) _read { yield table[id.index] }
        @inline(__always) _modify { yield &table[id.index] }
    }

    func contains(_ id: ReaderID) -> Bool { table.contains(id) }

    // MARK: Opening and closing

    /// Opens a reader and marks it ready.
    mutating func open(_ reader: LogReader) -> ReaderID {
        let id = table.insert { _ in reader }
        ready.insert(id)
        return id
    }

    mutating func close(_ id: ReaderID) {
        guard table.contains(id) else { return }
        ready.remove(id)
        retrying.remove(id)
        if self[id].isLive { removeLive(id) }
        table.remove(id.index)
    }

    // MARK: Ready and live readers

    /// Marks the reader ready, for example when its connection has room again.
    mutating func wake(_ id: ReaderID) {
        ready.insert(id)
    }

    /// Takes the ready readers in order of slot, beginning with the first reader of the last postponement.
    mutating func takeReady() -> [ReaderID] {
        guard !ready.isEmpty else { return [] }
        var readers = ready.filter { self[$0].canRead }.sorted { $0.slot < $1.slot }
        ready = []
        readers.rotate(toStartAt: readers.partitioningIndex { $0.slot >= firstSlot })
        return readers
    }

    /// Marks as ready again the readers that this tick's budget did not reach. The first of them continues first in the
    /// next tick, so that all readers take turns.
    mutating func postpone(_ readers: ArraySlice<ReaderID>) {
        guard let first = readers.first else { return }
        firstSlot = first.slot
        ready.formUnion(readers)
    }

    func source(for id: ReaderID, persistedThrough: UInt64) -> Source {
        let position = self[id].position
        if position >= persistedThrough { return .end }
        return position >= ring.floor ? .ring : .page
    }

    mutating func caughtUp(_ id: ReaderID, through sequence: UInt64) {
        self[id].passed(through: sequence)
        guard !self[id].isLive else { return }
        self[id].caughtUp()
        liveReaders.insert(id, at: liveIndex(of: id))
    }

    mutating func fellBehind(_ id: ReaderID, at sequence: UInt64) {
        guard self[id].isLive else { return }
        self[id].fellBehind(at: sequence)
        removeLive(id)
        ready.insert(id)
    }

    private mutating func removeLive(_ id: ReaderID) {
        liveReaders.remove(at: liveIndex(of: id))
    }

    private func liveIndex(of id: ReaderID) -> Int {
        liveReaders.partitioningIndex { $0.slot >= id.slot }
    }

    // MARK: The ring

    /// Adds a committed block to the ring.
    mutating func committed(_ block: LogBlock) {
        ring.append(block)
    }

    mutating func evictRing(through sequence: UInt64) {
        ring.evict(through: sequence)
    }

    mutating func limitRing(toBytes capacity: Int) {
        ring.limit(toBytes: capacity)
    }

    // MARK: Pages

    mutating func queueForPage(_ id: ReaderID) {
        pages.append(id)
    }

    /// Whether readers are queued for a page.
    var hasQueuedPages: Bool { !pages.isEmpty }

    /// Takes the next queued reader that still needs a page.
    mutating func nextForPage() -> ReaderID? {
        while let id = pages.popFirst() {
            // The reader may have been closed or have caught up since it was queued.
            if table.contains(id), self[id].canRead, self[id].position < ring.floor { return id }
        }
        return nil
    }

    mutating func pageRequested(_ id: ReaderID, rights: UInt32) {
        self[id].pageRequested(rights: rights)
        reading = id
    }

    /// Records that the page of a reader was read, and returns the reader.
    ///
    /// - Returns: Nil if the page must not be used: the reader was closed, or must request the page again.
    mutating func pageArrived(rights: UInt32) -> ReaderID? {
        guard let id = reading.take(), table.contains(id) else { return nil }
        if self[id].pageArrived(rights: rights) { return id }
        ready.insert(id)
        return nil
    }

    mutating func pageFailed(_ id: ReaderID) {
        retrying.insert(id)
    }

    /// Marks as ready the readers for which reading a page failed. Must be called when storage works again.
    mutating func retryPages() {
        ready.formUnion(retrying)
        retrying = []
    }
}

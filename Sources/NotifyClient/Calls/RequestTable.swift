import DequeModule

/// The requests that were sent on the connection and not answered yet, by request number.
///
/// Numbers rise by one, so the index of an entry follows from its number. While an entry is pending, the places of all
/// later entries stay allocated, even if the later entries were answered. `ClientMachine` sends no post while `span` is
/// too large.
struct RequestTable<Entry> {
    private var entries: Deque<Entry?> = []
    /// The request number of the first place.
    private var base: UInt64 = 1
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The number of places from the oldest entry to the newest.
    var span: Int { entries.count }

    /// All requests below this number have been answered.
    var answeredBelow: UInt64 { base }

    var nextRequest: UInt64 { base + UInt64(entries.count) }

    /// Uses the next number for a request that gets no answer.
    mutating func skip() -> UInt64 {
        let request = nextRequest
        if entries.isEmpty {
            base += 1
        } else {
            entries.append(nil)
        }
        return request
    }

    /// Adds an entry under the next number.
    mutating func append(_ entry: Entry) -> UInt64 {
        let request = nextRequest
        entries.append(entry)
        count += 1
        return request
    }

    /// The entry of a request; nil if there is none.
    subscript(request: UInt64) -> Entry? {
        guard request >= base, request - base < UInt64(entries.count) else { return nil }
        return entries[Int(request - base)]
    }

    /// The first request whose entry satisfies the predicate; nil if there is none.
    func firstRequest(where predicate: (Entry) -> Bool) -> UInt64? {
        entries.firstIndex { $0.map(predicate) ?? false }.map { base + UInt64($0) }
    }

    /// Changes the entry of a request in place, if there is one.
    mutating func update(_ request: UInt64, _ body: (inout Entry) -> Void) {
        guard var entry = self[request] else { return }
        let index = Int(request - base)
        entries[index] = nil
        body(&entry)
        entries[index] = entry
    }

    /// Removes and returns the entry of a request; nil if there is none.
    mutating func take(_ request: UInt64) -> Entry? {
        guard request >= base, request - base < UInt64(entries.count) else { return nil }
        let index = Int(request - base)
        guard let entry = entries[index] else { return nil }
        count -= 1
        if index == 0 {
            entries.removeFirst()
            base += 1
            removeLeadingAnswered()
        } else {
            entries[index] = nil
        }
        return entry
    }

    /// Removes and returns all entries, in order. The next request number does not change.
    mutating func takeAll() -> [(request: UInt64, entry: Entry)] {
        var all: [(request: UInt64, entry: Entry)] = []
        all.reserveCapacity(count)
        for (index, entry) in entries.enumerated() {
            if let entry { all.append((base + UInt64(index), entry)) }
        }
        base = nextRequest
        entries.removeAll(keepingCapacity: true)
        count = 0
        return all
    }

    private mutating func removeLeadingAnswered() {
        while let first = entries.first, first == nil {
            entries.removeFirst()
            base += 1
        }
    }
}

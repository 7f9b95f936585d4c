import DequeModule

/// What was sent on the connection and has no answer yet, by request number.
///
/// Numbers rise by one, so the place of an entry follows from its number. An entry that stays while later ones come and
/// go keeps their places; whoever adds posts bounds that by `span`.
struct RequestTable<Entry> {
    private var entries: Deque<Entry?> = []
    /// The number of the first place.
    private var base: UInt64 = 1
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// Places between the oldest entry and the newest.
    var span: Int { entries.count }

    /// Every request below this number was answered.
    var answeredBelow: UInt64 { base }

    var nextRequest: UInt64 { base + UInt64(entries.count) }

    /// Takes a number for a request that gets no answer.
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

    /// The entry of a request, if it is still there.
    subscript(request: UInt64) -> Entry? {
        guard request >= base, request - base < UInt64(entries.count) else { return nil }
        return entries[Int(request - base)]
    }

    /// Changes the entry of a request in place, if it is still there.
    mutating func update(_ request: UInt64, _ body: (inout Entry) -> Void) {
        guard var entry = self[request] else { return }
        let index = Int(request - base)
        entries[index] = nil
        body(&entry)
        entries[index] = entry
    }

    /// Takes the entry of a request out, if it is still there.
    mutating func take(_ request: UInt64) -> Entry? {
        guard request >= base, request - base < UInt64(entries.count) else { return nil }
        let index = Int(request - base)
        guard let entry = entries[index] else { return nil }
        count -= 1
        if index == 0 {
            entries.removeFirst()
            base += 1
            dropEmptyPlaces()
        } else {
            entries[index] = nil
        }
        return entry
    }

    /// Takes everything out, in order. Numbers go on rising.
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

    private mutating func dropEmptyPlaces() {
        while let first = entries.first, first == nil {
            entries.removeFirst()
            base += 1
        }
    }
}

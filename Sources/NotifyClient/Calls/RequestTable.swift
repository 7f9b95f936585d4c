import Algorithms
import DequeModule

/// The unanswered requests of the connection, by request number.
///
/// Numbers rise by one, so the index of an entry follows from its number. While an entry is pending, the places of all
/// later entries stay allocated, even if the later entries were answered. So an entry that stays pending while many
/// others are answered, such as a request that waits for a message, moves to a separate list.
struct RequestTable<Entry> {
    /// The number of places from which on the oldest entry moves to the list if most of the later ones were answered.
    static var maximumSpan: Int { 4096 }

    private var entries: Deque<Entry?> = []
    /// The request number of the first place.
    private var base: UInt64 = 1
    /// The oldest entries, with numbers below `base` in ascending order.
    private var oldest: Deque<(request: UInt64, entry: Entry)> = []
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The number of places, from the oldest entry that is not in the list to the newest.
    var span: Int { entries.count }

    /// All requests below this number have been answered.
    var answeredBelow: UInt64 { oldest.first?.request ?? base }

    var nextRequest: UInt64 { base + UInt64(entries.count) }

    /// Uses the next number for a request that gets no answer.
    mutating func skip() -> UInt64 {
        let request = nextRequest
        if entries.isEmpty {
            base += 1
        } else {
            append(place: nil)
        }
        return request
    }

    /// Adds an entry under the next number.
    mutating func append(_ entry: consuming Entry) -> UInt64 {
        let request = nextRequest
        append(place: entry)
        count += 1
        return request
    }

    private mutating func append(place: consuming Entry?) {
        if entries.count >= Self.maximumSpan, (count - oldest.count) * 2 < entries.count,
            let entry = entries.popFirst()
        {
            if let entry { oldest.append((base, entry)) }
            base += 1
            removeLeadingAnswered()
        }
        entries.append(place)
    }

    /// The entry of a request; nil if there is none.
    subscript(request: UInt64) -> Entry? {
        guard request >= base else { return index(inOldest: request).map { oldest[$0].entry } }
        guard request - base < UInt64(entries.count) else { return nil }
        return entries[Int(request - base)]
    }

    private func index(inOldest request: UInt64) -> Int? {
        let index = oldest.partitioningIndex { $0.request >= request }
        return index < oldest.count && oldest[index].request == request ? index : nil
    }

    /// The first request whose entry satisfies the predicate; nil if there is none.
    func firstRequest(where predicate: (Entry) -> Bool) -> UInt64? {
        oldest.first { predicate($0.entry) }?.request
            ?? entries.firstIndex { $0.map(predicate) ?? false }.map { base + UInt64($0) }
    }

    /// The pending requests below a number.
    func pending(below request: UInt64) -> [UInt64] {
        oldest.prefix { $0.request < request }.map(\.request)
            + (base..<max(base, min(request, nextRequest))).filter { entries[Int($0 - base)] != nil }
    }

    /// Changes the entry of a request in place, if there is one.
    ///
    /// - Returns: The result of `body`; nil if there is no such entry.
    @discardableResult
    mutating func update<Result, Failure>(
        _ request: UInt64, _ body: (inout Entry) throws(Failure) -> Result
    ) throws(Failure) -> Result? {
        guard request >= base else {
            guard let index = index(inOldest: request) else { return nil }
            return try body(&oldest[index].entry)
        }
        guard var entry = self[request] else { return nil }
        let index = Int(request - base)
        entries[index] = nil
        defer { entries[index] = entry }
        return try body(&entry)
    }

    /// Removes and returns the entry of a request; nil if there is none.
    mutating func take(_ request: UInt64) -> Entry? {
        guard request >= base else {
            guard let index = index(inOldest: request) else { return nil }
            count -= 1
            return oldest.remove(at: index).entry
        }
        guard request - base < UInt64(entries.count) else { return nil }
        let index = Int(request - base)
        // Moved out, because a copy of the entry would retain each of its parts.
        guard let entry = entries[index].take() else { return nil }
        count -= 1
        if index == 0 { removeLeadingAnswered() }
        return entry
    }

    /// Removes and returns all entries, in order. The next request number does not change.
    mutating func takeAll() -> [(request: UInt64, entry: Entry)] {
        var all: [(request: UInt64, entry: Entry)] = []
        all.reserveCapacity(count)
        all.append(contentsOf: oldest)
        for (index, entry) in entries.enumerated() {
            if let entry { all.append((base + UInt64(index), entry)) }
        }
        base = nextRequest
        entries.removeAll(keepingCapacity: true)
        oldest.removeAll()
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

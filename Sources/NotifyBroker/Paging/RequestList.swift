import DequeModule

/// The requests of a connection in their order. A request that may wait for a commit is found by its number in constant
/// time.
///
/// If several such requests have the same number, only the one that was added last is found.
struct RequestList<Read: ClientRead> {
    /// The requests; nil for one that was removed.
    private var reads: Deque<Read?> = []
    /// The place of the first element of ``reads``. The places ascend from there.
    private var firstPlace = 0
    /// The places of the requests that may wait for a commit, by their numbers.
    private var places: [UInt64: Int] = [:]
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    var all: [Read] { reads.compactMap { $0 } }

    mutating func append(_ read: Read) {
        add(read, at: firstPlace + reads.count)
        reads.append(read)
    }

    mutating func prepend(_ read: Read) {
        firstPlace -= 1
        add(read, at: firstPlace)
        reads.prepend(read)
    }

    private mutating func add(_ read: Read, at place: Int) {
        count += 1
        if read.mayWait { places[read.request] = place }
    }

    mutating func popFirst() -> Read? {
        while let first = reads.popFirst() {
            firstPlace += 1
            guard let read = first else { continue }
            removed(read, from: firstPlace - 1)
            return read
        }
        return nil
    }

    /// Removes and returns the request with this number that may wait for a commit; nil if there is no such request.
    mutating func remove(_ request: UInt64) -> Read? {
        guard let place = places[request], let read = reads[place - firstPlace].take() else { return nil }
        removed(read, from: place)
        removeGaps()
        return read
    }

    /// Removes and returns the requests for which `isRemoved` returns true, in their order. It may change the others.
    mutating func remove(where isRemoved: (inout Read) -> Bool) -> [Read] {
        var all: [Read] = []
        for index in reads.indices {
            guard var read = reads[index] else { continue }
            let isGone = isRemoved(&read)
            reads[index] = isGone ? nil : read
            guard isGone else { continue }
            removed(read, from: firstPlace + index)
            all.append(read)
        }
        removeGaps()
        return all
    }

    private mutating func removed(_ read: Read, from place: Int) {
        count -= 1
        if places[read.request] == place { places[read.request] = nil }
    }

    /// Removes the gaps once they are most of the elements, so that the cost of each removal stays constant.
    private mutating func removeGaps() {
        guard reads.count > 2 * count + 16 else { return }
        let all = all
        self = RequestList()
        for read in all { append(read) }
    }
}

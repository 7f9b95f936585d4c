import DequeModule

/// Members that have ended while messages of theirs must still move to the redeliveries.
///
/// The redeliveries in flight to a member move first. After that, one search of the messages in flight for the first
/// time finds the messages of all members that ended before the search began.
struct EndedMembers {
    /// A member whose redeliveries must be moved.
    private struct Entry {
        let id: MemberID
        /// An upper bound of the number of messages of the member that are still to be moved; at most 0 if messages in
        /// flight for the first time stay.
        var left: Int
    }

    private struct Search {
        var members: Set<MemberID> = []
        /// An upper bound of the number of messages that are still to be found.
        var left = 0

        var isDone: Bool { members.isEmpty || left <= 0 }
    }

    /// For each member, whether its messages count as failed.
    private var failures: [MemberID: Bool] = [:]
    private var queue: Deque<Entry> = []
    private var search = Search()
    private var nextSearch = Search()
    /// The sequence through which messages in flight for the first time have been searched.
    private(set) var searchedThrough: UInt64 = 0

    var isEmpty: Bool { failures.isEmpty }

    /// Whether the messages of a member count as failed; nil if none are to be moved.
    func isFailure(_ id: MemberID) -> Bool? { failures[id] }

    /// Adds a member.
    ///
    /// - Parameters:
    ///   - held: The number of messages that the member held.
    ///   - hasRedeliveries: Whether the member got redeliveries. Some of them may still be in flight to it.
    ///   - movesFirst: Whether messages in flight for the first time must be moved.
    mutating func add(_ id: MemberID, isFailure: Bool, held: Int, hasRedeliveries: Bool, movesFirst: Bool) {
        guard hasRedeliveries || (held > 0 && movesFirst) else { return }
        failures[id] = isFailure
        let entry = Entry(id: id, left: movesFirst ? held : 0)
        if hasRedeliveries { queue.append(entry) } else { searchFor(entry) }
    }

    // MARK: Redeliveries

    /// The member whose redeliveries are to be moved next.
    var redelivering: MemberID? { queue.first?.id }

    /// Records that some redeliveries of that member were moved.
    mutating func redelivered(_ count: Int, isLast: Bool) {
        guard var entry = queue.first else { return }
        entry.left -= count
        queue[0] = entry
        guard isLast else { return }
        queue.removeFirst()
        if entry.left > 0 { searchFor(entry) } else { failures[entry.id] = nil }
    }

    // MARK: First deliveries

    private mutating func searchFor(_ entry: Entry) {
        nextSearch.members.insert(entry.id)
        nextSearch.left += entry.left
    }

    /// The members of the current search; nil if there are none. Begins the next search if the current one is done.
    mutating func searched() -> Set<MemberID>? {
        if search.isDone {
            for id in search.members { failures[id] = nil }
            (search, nextSearch, searchedThrough) = (nextSearch, Search(), 0)
        }
        return search.isDone ? nil : search.members
    }

    /// Records that messages were found and moved.
    ///
    /// - Parameter end: The last sequence that was searched; nil if all were.
    mutating func found(_ count: Int, through end: UInt64?) {
        search.left = end == nil ? 0 : search.left - count
        searchedThrough = end ?? 0
        if search.isDone { _ = searched() }
    }
}

import DequeModule

/// Members that have ended, and whose messages are still to be moved to the redeliveries.
///
/// The redeliveries in flight to a member move first. Then the messages in flight for the first time are searched, once
/// for all members that have ended before the search began.
struct EndedMembers {
    /// A member whose redeliveries are to be moved.
    private struct Entry {
        let id: MemberID
        /// The messages that the member held, or 0 if those in flight for the first time are not to be moved.
        var left: Int
    }

    private struct Search {
        var members: Set<MemberID> = []
        /// The messages that are still to be found, or fewer.
        var left = 0

        var isDone: Bool { members.isEmpty || left <= 0 }
    }

    /// Whether the messages of each member have failed.
    private var failures: [MemberID: Bool] = [:]
    private var queue: Deque<Entry> = []
    private var search = Search()
    private var nextSearch = Search()
    /// The sequence through which messages in flight for the first time have been searched.
    private(set) var searchedThrough: UInt64 = 0

    var isEmpty: Bool { failures.isEmpty }

    /// Whether the messages of a member have failed; nil if none are to be moved.
    func isFailure(_ id: MemberID) -> Bool? { failures[id] }

    /// Adds a member.
    ///
    /// - Parameters:
    ///   - held: The number of messages that it held.
    ///   - hasRedeliveries: Whether there are redeliveries that it got. Some may be in flight to it.
    ///   - movesFirst: Whether those in flight for the first time are to be moved.
    mutating func add(_ id: MemberID, isFailure: Bool, held: Int, hasRedeliveries: Bool, movesFirst: Bool) {
        guard hasRedeliveries || (held > 0 && movesFirst) else { return }
        failures[id] = isFailure
        let entry = Entry(id: id, left: movesFirst ? held : 0)
        if hasRedeliveries { queue.append(entry) } else { searchFor(entry) }
    }

    // MARK: Redeliveries

    /// The member whose redeliveries are to be moved next.
    var redelivering: MemberID? { queue.first?.id }

    /// Notes that some redeliveries of that member were moved.
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

    /// The members whose messages are searched; nil if there are none.
    mutating func searched() -> Set<MemberID>? {
        if search.isDone {
            for id in search.members { failures[id] = nil }
            (search, nextSearch, searchedThrough) = (nextSearch, Search(), 0)
        }
        return search.isDone ? nil : search.members
    }

    /// Notes that messages were found and moved.
    ///
    /// - Parameter end: The last sequence that was searched; nil if all were.
    mutating func found(_ count: Int, through end: UInt64?) {
        search.left = end == nil ? 0 : search.left - count
        searchedThrough = end ?? 0
        if search.isDone { _ = searched() }
    }
}

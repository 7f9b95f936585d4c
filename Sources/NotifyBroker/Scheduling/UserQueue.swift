import DequeModule

/// A queue in which users take turns. The elements of one user are in order of arrival.
struct UserQueue<Element> {
    private struct Lane {
        let uid: UInt32
        var elements: Deque<Element> = []
    }

    /// One lane for each user, with the user's elements. An empty lane is removed at its turn.
    private var lanes: [Lane] = []
    /// The index of each user's lane.
    private var indices: [UInt32: Int] = [:]
    /// The lane that has the next turn.
    private var turn = 0
    /// The lane of the last added element. A fast path, because successive elements mostly belong to one user.
    private var latest = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    mutating func append(_ element: Element, of uid: UInt32) {
        if latest >= lanes.count || lanes[latest].uid != uid { latest = index(of: uid) }
        lanes[latest].elements.append(element)
        count += 1
    }

    /// Takes the next element.
    mutating func next() -> Element? {
        guard let lane = nextLane(), let element = lanes[lane].elements.popFirst() else { return nil }
        turn += 1
        count -= 1
        return element
    }

    /// The element that ``next()`` takes.
    mutating func first() -> Element? { nextLane().flatMap { lanes[$0].elements.first } }

    /// The lane that has the next turn and is not empty.
    private mutating func nextLane() -> Int? {
        guard count > 0 else { return nil }
        while true {
            if turn >= lanes.count { turn = 0 }
            if !lanes[turn].elements.isEmpty { return turn }
            removeLane(at: turn)
        }
    }

    private mutating func index(of uid: UInt32) -> Int {
        if let index = indices[uid] { return index }
        indices[uid] = lanes.count
        lanes.append(Lane(uid: uid))
        return lanes.count - 1
    }

    /// Moves the last lane to the place of an empty one.
    private mutating func removeLane(at index: Int) {
        indices[lanes[index].uid] = nil
        let last = lanes.removeLast()
        guard index < lanes.count else { return }
        lanes[index] = last
        indices[last.uid] = index
    }

    // MARK: All elements

    /// The elements, by user.
    var all: some Sequence<Element> { lanes.lazy.flatMap(\.elements) }

    /// Whether an element of a user satisfies a condition.
    func contains(of uid: UInt32, where condition: (Element) -> Bool) -> Bool {
        indices[uid].map { lanes[$0].elements.contains(where: condition) } ?? false
    }

    /// Removes and returns the elements of a user that satisfy a condition.
    mutating func remove(of uid: UInt32, where isRemoved: (Element) -> Bool) -> [Element] {
        guard let index = indices[uid] else { return [] }
        let removed = lanes[index].elements.filter(isRemoved)
        guard !removed.isEmpty else { return [] }
        lanes[index].elements.removeAll(where: isRemoved)
        count -= removed.count
        return Array(removed)
    }

    /// Removes and returns all elements, in the order of their turns.
    mutating func removeAll() -> [Element] {
        var all: [Element] = []
        while let next = next() { all.append(next) }
        return all
    }
}

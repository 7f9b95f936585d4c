/// A graph to detect deadlocks. An edge means that a post by an observer waits for room in a queue.
final class WaitGraph: Sendable {
    static let shared = WaitGraph()

    private let edges = Lock<[ObjectIdentifier: [ObjectIdentifier: Int]]>([:])

    /// Adds an edge, unless it would create a cycle.
    ///
    /// - Returns: Whether the edge was added.
    func add(from: any PostWaiter, to: any PostWaiter) -> Bool {
        let (from, to) = (ObjectIdentifier(from), ObjectIdentifier(to))
        return edges.withLock { edges in
            var seen: Set<ObjectIdentifier> = []
            var next = [to]
            while let node = next.popLast() {
                if node == from { return false }
                guard seen.insert(node).inserted, let targets = edges[node] else { continue }
                next.append(contentsOf: targets.keys)
            }
            edges[from, default: [:]][to, default: 0] += 1
            return true
        }
    }

    func remove(from: any PostWaiter, to: any PostWaiter) {
        let (from, to) = (ObjectIdentifier(from), ObjectIdentifier(to))
        edges.withLock { edges in
            guard let count = edges[from]?[to] else { return }
            edges[from]?[to] = count > 1 ? count - 1 : nil
            if edges[from]?.isEmpty == true { edges[from] = nil }
        }
    }

    var isEmpty: Bool { edges.withLock(\.isEmpty) }
}

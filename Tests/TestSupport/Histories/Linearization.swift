/// A search for a linearization of the operations on one object: an order in which each operation takes effect at one
/// moment between its invocation and its return, and has the result that the model gives it.
///
/// This is the search of Wing and Gong: it tries every operation that can be the next one. As proposed by Lowe, it
/// continues only once from each pair of a set of ordered operations and the state after them.
package struct Linearization<Model: SequentialModel> {
    /// A set of operations that were ordered, and the state after them.
    private struct Configuration: Hashable {
        var ordered: OperationSet
        var state: Model.State
    }

    private let model: Model
    /// In the order of their invocations.
    private let operations: [RecordedOperation<Model.Operation>]
    /// The number of configurations that the search has reached.
    package private(set) var configurations = 0
    /// The longest order that was found, with the operations that can't continue it; nil if there is a linearization.
    package private(set) var violation: String?

    /// Searches for a linearization.
    package init(of operations: [RecordedOperation<Model.Operation>], _ model: Model) {
        self.model = model
        self.operations = operations.sorted { $0.invoked < $1.invoked }
        search()
    }

    private mutating func search() {
        let certain = operations.count { $0.isCertain }
        let initial = Configuration(ordered: OperationSet(count: operations.count), state: model.initialState)
        var seen: Set<Configuration> = [initial]
        var stack = [(configuration: initial, certain: 0)]
        var furthest = stack[0]
        while let (configuration, reached) = stack.popLast() {
            if reached == certain {
                configurations = seen.count
                return
            }
            if reached > furthest.certain { furthest = (configuration, reached) }
            let candidates = candidates(after: configuration.ordered)
            // The operation that was invoked first is tried first.
            for index in candidates.indices.reversed() {
                let operation = operations[index]
                var next = configuration
                next.ordered.insert(index)
                for state in model.states(after: operation.operation, in: configuration.state) {
                    next.state = state
                    if seen.insert(next).inserted { stack.append((next, reached + (operation.isCertain ? 1 : 0))) }
                }
                // Leaving it out earlier than necessary reaches more configurations, but accepts no more histories.
                guard !operation.isCertain, operation.returned == candidates.end else { continue }
                next.state = configuration.state
                if seen.insert(next).inserted { stack.append((next, reached)) }
            }
        }
        configurations = seen.count
        let next = candidates(after: furthest.configuration.ordered).indices.map { "\(operations[$0])" }
        violation = """
            after \(furthest.certain) of \(certain) operations, the state is \(furthest.configuration.state), and none of \
            these can be next:
            \(next.joined(separator: "\n"))
            """
    }

    /// The operations that can be next: those that were invoked before each of the others returned.
    ///
    /// - Returns: Their indices, and the first time at which one of them returned; nil if none did.
    private func candidates(after ordered: OperationSet) -> (indices: [Int], end: UInt64?) {
        var (indices, end): ([Int], UInt64?) = ([], nil)
        for index in ordered.firstMissing..<operations.count where !ordered.contains(index) {
            let operation = operations[index]
            if let end, operation.invoked > end { break }
            indices.append(index)
            if let returned = operation.returned { end = min(end ?? returned, returned) }
        }
        return (indices, end)
    }
}

/// A set of operations, by their indices.
private struct OperationSet: Hashable {
    private var words: [UInt64]

    init(count: Int) { words = Array(repeating: 0, count: count / 64 + 1) }

    /// The least index that is not in the set. Indices up to the number of operations exist.
    var firstMissing: Int {
        let word = words.firstIndex { $0 != .max } ?? words.count - 1
        return word * 64 + (~words[word]).trailingZeroBitCount
    }

    func contains(_ index: Int) -> Bool { words[index / 64] >> (index % 64) & 1 == 1 }

    mutating func insert(_ index: Int) { words[index / 64] |= 1 << (index % 64) }
}

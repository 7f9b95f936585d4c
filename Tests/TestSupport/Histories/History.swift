@_spi(Package) import NotifyCenter

/// The operations of concurrent clients on independent objects.
package final class History<Key: Hashable & Comparable & Sendable, Operation: Sendable>: Sendable {
    private struct State {
        var time: UInt64 = 0
        var operations: [Key: [RecordedOperation<Operation>]] = [:]

        mutating func next() -> UInt64 {
            time += 1
            return time
        }
    }

    private let state = Lock(State())

    package init() {}

    /// A time after all earlier ones. The time of an invocation must be taken before the operation begins.
    package func now() -> UInt64 { state.withLock { $0.next() } }

    /// Records an operation that has returned.
    ///
    /// - Parameter isCertain: False if the operation may have taken effect, but can't do so any more.
    package func record(_ operation: Operation, on key: Key, invoked: UInt64, isCertain: Bool = true) {
        state.withLock { state in
            let returned = state.next()
            state.operations[key, default: []].append(
                RecordedOperation(operation, invoked: invoked, returned: returned, isCertain: isCertain))
        }
    }

    /// Records an operation that may take effect at any later time.
    package func recordPending(_ operation: Operation, on key: Key, invoked: UInt64) {
        state.withLock { state in
            state.operations[key, default: []].append(
                RecordedOperation(operation, invoked: invoked, returned: nil, isCertain: false))
        }
    }

    package var operations: [Key: [RecordedOperation<Operation>]] { state.withLock { $0.operations } }

    /// The objects whose operations have no linearization, with descriptions.
    package func violations(of model: some SequentialModel<Operation>) -> [String] {
        operations.sorted { $0.key < $1.key }.compactMap { key, operations in
            Linearization(of: operations, model).violation.map { "\(key): \($0)" }
        }
    }
}

/// The value of one name and object, as a client that is alone would see it. The contents of a history must differ.
package struct ValueModel: SequentialModel {
    package struct State: Hashable, Sendable, CustomStringConvertible {
        /// The content of the value; nil if there is none.
        fileprivate var content: String?
        /// The sequence of the last change, 0 before the first one; if it is unknown, the least one that it can be.
        fileprivate var sequence: UInt64
        fileprivate var isSequenceKnown: Bool

        /// The state if the value has this sequence, 0 for no value; nil if that is impossible.
        fileprivate func at(_ sequence: UInt64) -> State? {
            guard sequence > 0 else { return content == nil ? self : nil }
            guard content != nil, isSequenceKnown ? sequence == self.sequence : sequence >= self.sequence else {
                return nil
            }
            return State(content: content, sequence: sequence, isSequenceKnown: true)
        }

        /// The state after a change.
        ///
        /// - Parameter sequence: Nil if it is unknown.
        fileprivate func changed(to content: String?, _ sequence: UInt64?) -> State? {
            guard let sequence else {
                return State(content: content, sequence: self.sequence + 1, isSequenceKnown: false)
            }
            guard sequence > self.sequence else { return nil }
            return State(content: content, sequence: sequence, isSequenceKnown: true)
        }

        package var description: String { "\(content ?? "none") \(isSequenceKnown ? "at" : "from") \(sequence)" }
    }

    package init() {}

    package var initialState: State { State(content: nil, sequence: 0, isSequenceKnown: true) }

    package func states(after operation: ValueOperation, in state: State) -> [State] {
        next(operation, state).map { [$0] } ?? []
    }

    private func next(_ operation: ValueOperation, _ state: State) -> State? {
        switch (operation.request, operation.result) {
        case (.get, .noValue): return state.at(0)
        case (.get, .value(let content, let sequence)): return content == state.content ? state.at(sequence) : nil
        case (.set(_, let expected?), .refused(let current)), (.clear(let expected?), .refused(let current)):
            return expected == current ? nil : state.at(current)
        case (.clear(let expected), .noValue): return expected ?? 0 == 0 ? state.at(0) : nil
        case (.set(let content, let expected), .changed(let sequence)):
            return met(expected, state)?.changed(to: content, sequence)
        case (.clear(let expected), .changed(let sequence)):
            guard state.content != nil else { return nil }
            return met(expected, state)?.changed(to: nil, sequence)
        default: return nil
        }
    }

    /// The state if it meets a condition; nil if it does not.
    private func met(_ expected: UInt64?, _ state: State) -> State? { expected.map { state.at($0) } ?? state }
}

/// A request about the value of a name and object, with its result.
package struct ValueOperation: Sendable, CustomStringConvertible {
    package enum Request: Sendable {
        case set(String, ifSequence: UInt64?)
        case clear(ifSequence: UInt64?)
        case get
    }

    package enum Result: Sendable {
        /// The value was set or cleared. The sequence is nil if the result does not have it.
        case changed(sequence: UInt64?)
        /// The condition was not met. The sequence is that of the present value, 0 if there is none.
        case refused(current: UInt64)
        /// The value that was read.
        case value(String, sequence: UInt64)
        /// There was no value to read or to clear.
        case noValue
    }

    package let request: Request
    package let result: Result

    package init(_ request: Request, _ result: Result) {
        self.request = request
        self.result = result
    }

    /// A change that may have been made.
    package init(uncertain request: Request) { self.init(request, .changed(sequence: nil)) }

    package var description: String { "\(request) -> \(result)" }
}

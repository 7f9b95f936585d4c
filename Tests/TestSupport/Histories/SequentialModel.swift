/// An object as a single client would see it: the specification to which concurrent operations are compared.
package protocol SequentialModel<Operation> {
    associatedtype State: Hashable
    associatedtype Operation

    var initialState: State { get }

    /// The states to which an operation can lead in a state: none if its result is impossible there, several if its
    /// result does not determine the state.
    func states(after operation: Operation, in state: State) -> [State]
}

/// An operation on an object, with its result, and the times of its invocation and its return.
package struct RecordedOperation<Operation> {
    package let operation: Operation
    package let invoked: UInt64
    /// The time up to which the operation may have taken effect; nil if it may do so at any later time.
    package let returned: UInt64?
    /// Whether the operation took effect for certain. If not, it did so between the two times, or never.
    package let isCertain: Bool

    package init(_ operation: Operation, invoked: UInt64, returned: UInt64?, isCertain: Bool = true) {
        precondition(isCertain ? returned != nil : true, "an operation without a return has no certain effect")
        self.operation = operation
        self.invoked = invoked
        self.returned = returned
        self.isCertain = isCertain
    }
}

extension RecordedOperation: Sendable where Operation: Sendable {}

extension RecordedOperation: CustomStringConvertible {
    package var description: String {
        "\(invoked)–\(returned.map { "\($0)" } ?? "") \(operation)\(isCertain ? "" : " (uncertain)")"
    }
}

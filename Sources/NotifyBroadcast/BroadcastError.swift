/// An error of a broadcast, or of decoding a call.
public struct BroadcastError: Error, CustomStringConvertible {
    /// The kind of an error.
    public enum Code: Sendable {
        /// All receivers were called, and at least one of them threw.
        case receiversThrew
        /// A decoded call has a name that is not in the protocol.
        case unknownCall
        /// A decoded call has too few or too many arguments, or arguments of other types.
        case wrongArguments
    }

    /// The kind of the error.
    public let code: Code

    /// A description of the error for humans.
    public let message: String

    /// The errors of the receivers, in the order of the calls, or the reason why an argument could not be decoded.
    public let errors: [any Error]

    /// The ``message``.
    public var description: String { message }

    init(code: Code, message: String, errors: [any Error] = []) {
        self.code = code
        self.message = message
        self.errors = errors
    }

    /// Throws the errors of the receivers as one error. Used by generated code.
    ///
    /// - Throws: A `BroadcastError` with the code `receiversThrew`, if the list is not empty.
    public static func check(_ errors: [any Error]) throws(BroadcastError) {
        if errors.isEmpty { return }
        let list = errors.map { "\($0)" }.joined(separator: "; ")
        let receivers = errors.count == 1 ? "a receiver" : "\(errors.count) receivers"
        throw BroadcastError(code: .receiversThrew, message: "\(receivers) threw: \(list)", errors: errors)
    }
}

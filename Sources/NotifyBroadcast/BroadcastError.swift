/// What goes wrong in a broadcast.
public struct BroadcastError: Error, CustomStringConvertible {
    /// The kinds of failure.
    public enum Code: Sendable {
        /// All receivers were called, and some of them threw.
        case receiversThrew
        /// A call was decoded whose name the protocol does not know.
        case unknownCall
        /// A call was decoded whose arguments are too few, too many or of other types.
        case wrongArguments
    }

    /// Which kind it is.
    public let code: Code

    /// What happened, for people.
    public let message: String

    /// What the receivers threw, in the order in which they were called, or why an argument could not be decoded.
    public let errors: [any Error]

    /// The message.
    public var description: String { message }

    init(code: Code, message: String, errors: [any Error] = []) {
        self.code = code
        self.message = message
        self.errors = errors
    }

    /// Throws what the receivers of a call threw, if any did. Generated code ends with it.
    public static func check(_ errors: [any Error]) throws(BroadcastError) {
        if errors.isEmpty { return }
        let list = errors.map { "\($0)" }.joined(separator: "; ")
        let receivers = errors.count == 1 ? "a receiver" : "\(errors.count) receivers"
        throw BroadcastError(code: .receiversThrew, message: "\(receivers) threw: \(list)", errors: errors)
    }
}

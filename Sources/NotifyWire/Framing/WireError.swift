/// The reason why a frame could not be read or a request was refused: a code to act on and a message to display.
package struct WireError: Error, Equatable, Sendable {
    package let code: ErrorCode
    package let message: String

    package init(_ code: ErrorCode, _ message: String) {
        self.code = code
        self.message = message
    }

    package static let truncated = WireError(.malformedFrame, "the frame is too short for its fields")
}

extension WireError: CustomStringConvertible {
    package var description: String { message }
}

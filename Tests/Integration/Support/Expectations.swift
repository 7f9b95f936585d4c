import NotifyWire
import Testing

/// Expects that the text contains the part, and shows the text if it does not.
func expectText(_ text: String, _ part: String, sourceLocation: SourceLocation = #_sourceLocation) {
    #expect(text.contains(part), sourceLocation: sourceLocation)
}

/// Expects that the daemon answers with this code.
func expectRefusal(
    _ code: ErrorCode, sourceLocation: SourceLocation = #_sourceLocation, _ body: () throws -> Void
) {
    let refused = #expect(throws: Refused.self, sourceLocation: sourceLocation) { try body() }
    #expect(refused?.code == code, sourceLocation: sourceLocation)
    #expect(refused?.frame.message.isEmpty == false, sourceLocation: sourceLocation)
}

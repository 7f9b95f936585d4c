import NotifySystem
import Testing

@testable import NotifyServer

/// Expects a ``ServerError`` with this code and a message of one line that contains all these parts.
func expectRefusal(
    _ code: ServerErrorCode, _ parts: String..., sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    let error = #expect(throws: ServerError.self, sourceLocation: sourceLocation) { try body() }
    guard let error else { return }
    #expect(error.code == code, sourceLocation: sourceLocation)
    #expect(!error.description.contains("\n"), sourceLocation: sourceLocation)
    for part in parts {
        #expect(error.description.contains(part), sourceLocation: sourceLocation)
    }
}

func context(
    user: UInt32 = 1000, process: Int32 = 4711, _ environment: [String: String] = [:]
) -> ProcessContext {
    ProcessContext(processID: process, userID: user, environment: environment)
}

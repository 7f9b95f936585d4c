import Testing

@testable import NotifyClient

@Suite struct NotifyErrorTests {
    @Test func `the error for a missing connection names the time that the request waited`() {
        let error = NotifyError.notConnected(after: .seconds(1), lastFailure: nil)
        #expect(error.message == "timed out after 1 s without a connection to notifyd; nothing was sent")
    }
}

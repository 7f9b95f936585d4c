import NotifySystem
import SystemPackage
import Testing

@Suite struct DaemonErrorTests {
    private enum Code: Sendable { case unusable }

    @Test func `the description is the message, and the cause follows in parentheses`() {
        #expect("\(DaemonError(Code.unusable, "choose another path"))" == "choose another path")
        let error = DaemonError(Code.unusable, "the file can't be opened", cause: Errno.permissionDenied)
        #expect("\(error)" == "the file can't be opened (Permission denied)")
        #expect(error.code == .unusable && error.message == "\(error)")
    }
}

import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ExitStatusTests {
    @Test(arguments: NotifyError.Code.allCases)
    func `what the daemon refuses is 77, whatever the reason`(code: NotifyError.Code) {
        let status = notifyctl.ExitStatus(NotifyError(code, "no", isRefusal: true))
        #expect(status == (code == .noDaemon || code == .notConnected ? .noDaemon : .refused))
    }

    @Test func `what is wrong by itself is 64, no daemon 69, the rest 1`() {
        let expected: [NotifyError.Code: notifyctl.ExitStatus] = [
            .noDaemon: .noDaemon, .notConnected: .noDaemon, .invalidName: .usage, .invalidPattern: .usage,
            .invalidObject: .usage, .invalidHeaders: .usage, .invalidSubscriptionName: .usage, .invalidArgument: .usage,
            .invalidSocketPath: .usage, .forbidden: .refused,
        ]
        for code in NotifyError.Code.allCases {
            #expect(notifyctl.ExitStatus(NotifyError(code, "no")) == expected[code] ?? .failure, "\(code)")
        }
    }
}

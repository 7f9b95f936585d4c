import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ExitStatusTests {
    @Test(arguments: NotifyError.Code.allCases)
    func `the status of a refusal by the daemon is 77, of its invalid configuration 1`(code: NotifyError.Code) {
        let status = notifyctl.ExitStatus(NotifyError(code, "no", isRefusal: true))
        let expected: notifyctl.ExitStatus =
            switch code {
            case .noDaemon, .notConnected: .noDaemon
            case .configurationInvalid: .failure
            default: .refused
            }
        #expect(status == expected)
    }

    @Test func `the status of invalid arguments is 64, of a missing daemon 69, of other errors 1`() {
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

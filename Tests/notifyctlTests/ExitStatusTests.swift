import ArgumentParser
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct ExitStatusTests {
    private static let statuses: [NotifyError.Code: Int32] = [
        .invalidName: 64, .invalidPattern: 64, .invalidHeaders: 64, .invalidSubscriptionName: 64, .invalidArgument: 64,
        .invalidSocketPath: 64, .payloadTooLarge: 65, .invalidObject: 65, .coding: 65, .noDaemon: 69, .notConnected: 69,
        .connectionLost: 69, .daemonClosing: 69, .limitReached: 75, .logFull: 75, .storageFailed: 75, .logDamaged: 75,
        .forbidden: 77, .configurationInvalid: 78, .timedOut: 124, .noResponders: 69, .serverGone: 75,
        .requestTimedOut: 124, .valueInUse: 75, .serviceHeld: 75,
    ]

    @Test(arguments: NotifyError.Code.allCases)
    func `a code has the same status whether the daemon or the client refuses`(code: NotifyError.Code) {
        for isRefusal in [true, false] {
            let status = notifyctl.ExitStatus(NotifyError(code, "no", isRefusal: isRefusal))
            #expect(status.rawValue == Self.statuses[code] ?? 1)
        }
    }

    @Test func `a request with an unknown outcome may have been executed, as one whose server is gone`() {
        func status(_ code: NotifyError.Code) -> notifyctl.ExitStatus {
            .init(RequestCommand.failure(NotifyError(code, "no")))
        }
        #expect(status(.outcomeUnknown) == status(.serverGone))
        #expect(status(.requestFailed) == .failure && status(.noResponders) == .noDaemon)
    }

    @Test func `wrong usage is 64, and an unknown error 1`() {
        #expect(notifyctl.ExitStatus(ValidationError("no")) == .usage)
        #expect(notifyctl.ExitStatus(CancellationError()) == .failure)
        #expect(notifyctl.ExitStatus(CommandFailure(.timeout)) == .timeout)
    }

    @Test func `the help has each status in a line`() {
        let numbers = notifyctl.ExitStatus.table.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first.flatMap { Int32($0) }
        }
        #expect(numbers == [0, 1, 64, 65, 66, 69, 75, 77, 78, 124, 126, 127])
        let discussion = Notifyctl.configuration.discussion
        #expect(discussion.contains("EXIT STATUS\n  0    success\n  1 "))
    }
}

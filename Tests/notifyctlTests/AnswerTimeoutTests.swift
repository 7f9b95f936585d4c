import NotifyClient
import Testing

@testable import notifyctl

@Suite struct AnswerTimeoutTests {
    @Test(
        arguments: [(nil, .seconds(3)), ("", .seconds(3)), ("1m", .seconds(60)), ("1h", .seconds(3600))]
            as [(String?, Duration)])
    func `the variable lengthens the time of 3 s`(value: String?, limit: Duration) throws {
        #expect(try AnswerTimeout.parse(value) == limit)
    }

    @Test(arguments: ["fast", "-1s", "2s", "61m"])
    func `a wrong value of the variable is an error of usage`(value: String) {
        let error = #expect(throws: CommandFailure.self) { try AnswerTimeout.parse(value) }
        #expect(error?.status == .usage)
        #expect(
            error?.message?.hasPrefix(
                "the variable NOTIFYCTL_ANSWER_TIMEOUT is '\(value)': expected a duration from 3s to 1h, ") == true)
    }

    @Test func `the limits of a client end after the time of an answer`() {
        var configuration = NotificationClient.Configuration()
        configuration.connectionWait = .seconds(1)
        configuration.closingTimeout = .seconds(1)
        configuration.requestTimeout = .seconds(7200)
        AnswerTimeout.lengthenLimits(of: &configuration)
        #expect(configuration.connectionWait == AnswerTimeout.current + .seconds(2))
        #expect(configuration.closingTimeout == AnswerTimeout.current + .seconds(2))
        #expect(configuration.requestTimeout == .seconds(7200))
    }
}

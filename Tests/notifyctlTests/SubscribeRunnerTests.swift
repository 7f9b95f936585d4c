import Testing

@testable import notifyctl

@Suite struct SubscribeRunnerTests {
    @Test(arguments: [(3600, "timed out after 3600 s"), (0, "timed out after 0 s"), (0.5, "timed out after 0.5 s")])
    func `the timeout is printed with as many decimals as it has`(seconds: Double, message: String) {
        #expect(SubscribeRunner.timeoutMessage(seconds: seconds) == message)
    }
}

import Testing
import WireTestSupport

extension RealTimeTests {
    /// Commands that run for longer than the deadline of their message.
    @Suite struct DeadlineTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        private func expectNoDeadLetters() async throws {
            #expect(try await notifyctl.run("dead", "list", "--json").objects.isEmpty)
        }

        @Test func `a command of 'work' that runs longer than the deadline runs once`() async throws {
            let worker = try start(
                ["--deadline", "60s", "--max-deliveries", "1", "--parallel", "2"],
                script: "read job; sleep 70; echo $job $NOTIFY_DELIVERY")
            try daemon.waitForSubscriptions(1)
            try post("0\n", "1\n")
            #expect(try await worker.waitForLines(2).sorted() == ["0 1", "1 1"])
            try await stop(worker)
            try await expectNoDeadLetters()
        }

        @Test func `the command of 'wait' may run longer than the timeout and the deadline`() async throws {
            let options = ["--deadline", "60s", "--max-deliveries", "1"]
            #expect(try await notifyctl.run(["durable", "create", "d", "jobs.>"] + options).status == .status(0))
            try post("one")
            let result = try await notifyctl.run(
                "wait", "jobs.>", "--durable", "d", "--timeout", "60s", "--", "sh", "-c", "sleep 70; cat")
            #expect(result.status == .status(0) && result.output == "one")
            try await expectNoDeadLetters()
        }
    }
}

import Glibc
import NotifyClient
import ServiceLifecycleTestKit
import SystemPackage
import TestSupport
import Testing

@testable import notifyctl

@Suite(.timeLimit(.minutes(25))) struct WorkTests {
    private func work(_ runner: JobRunner) -> Work {
        Work(
            WorkRunner(
                configuration: .init(), patterns: ["a"], kind: .durable("w"), object: nil, parallel: 1, runner: runner))
    }

    /// Expects that the message is given back, and only after the beginning of the shutdown.
    ///
    /// - Parameter prepare: Called before the shutdown.
    private func expectGivenBackAtShutdown(_ work: Work, _ prepare: @Sendable () async throws -> Void = {}) async throws
    {
        let message = try NotificationClient.Message(sequence: 1, name: "a")
        let (isProcessing, hasBegun) = (LateValue<Bool>(), LateValue<Bool>())
        try await testGracefulShutdown { trigger in
            async let hadBegun = {
                isProcessing.value = true
                await #expect(throws: NotificationClient.JobError.self) { try await work.process(message) }
                return hasBegun.value == true
            }()
            while isProcessing.value != true { await Task.yield() }
            try await prepare()
            // A message that does not wait for the shutdown is given back meanwhile.
            for _ in 0..<50_000 { await Task.yield() }
            hasBegun.value = true
            trigger.triggerGracefulShutdown()
            #expect(await hadBegun)
        }
    }

    @Test func `after an interruption, no command starts, and the shutdown gives the message back`() async throws {
        let folder = try TemporaryFolder()
        let work = work(try JobRunner(["touch", folder.file("started")]))
        work.interruption.interrupt(.signal)
        try await expectGivenBackAtShutdown(work)
        #expect(access(folder.file("started"), F_OK) != 0)
    }

    @Test func `the shutdown gives back the message of a command that was stopped with 'work'`() async throws {
        let folder = try TemporaryFolder()
        let gate = folder.file("gate")
        try #require(mkfifo(gate, 0o600) == 0)
        let runner = try JobRunner(["sh", "-c", "read _ <'\(gate)'; kill -TERM $$"])
        let work = work(runner)
        try await expectGivenBackAtShutdown(work) {
            // Waits until the command reads.
            let descriptor = try await Blocking.run { try FileDescriptor.open(gate, .writeOnly) }
            work.interruption.interrupt(.signal)
            try descriptor.close()
            await runner.waitUntilIdle()
        }
    }
}

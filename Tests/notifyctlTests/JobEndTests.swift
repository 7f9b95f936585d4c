import Subprocess
import SystemPackage
import Testing

@testable import notifyctl

@Suite struct JobEndTests {
    private struct Failure: Error {}

    @Test func `the first result counts`() async throws {
        let end = JobEnd()
        #expect(end.set(.success(.exited(3))))
        #expect(!end.set(.failure(Failure())))
        #expect(try await end.status == .exited(3))
    }

    @Test func `a result ends the wait for it`() async {
        let end = JobEnd()
        let waiting = Task { try await end.status }
        end.set(.failure(Failure()))
        await #expect(throws: Failure.self) { try await waiting.value }
    }

    @Test(arguments: [("exit 3", TerminationStatus.exited(3)), ("kill -KILL $$", .signaled(9)), ("exit 0", .exited(0))])
    func `the end of a process is reported with its status before the process is reaped`(
        script: String, status: TerminationStatus
    ) async throws {
        let thread = try JobThread()
        let reported = try await Task(executorPreference: JobExecutor(thread)) {
            try await Subprocess.run(
                .path("/bin/sh"), arguments: ["-c", script], input: .none, output: .discarded, error: .discarded
            ) { execution in
                await thread.end(of: execution.processIdentifier.processDescriptor) {}
                return TerminationStatus(ofEnded: execution.processIdentifier.value)
            }
        }.value
        #expect(reported.closureResult == status)
        #expect(reported.terminationStatus == status)
    }

    @Test func `a process that runs has no status`() async throws {
        let result = try await Subprocess.run(
            .path("/bin/sleep"), arguments: ["1000"], input: .none, output: .discarded, error: .discarded
        ) { execution in
            defer { try? execution.send(signal: .kill) }
            return TerminationStatus(ofEnded: execution.processIdentifier.value)
        }
        #expect(result.closureResult == nil)
    }
}

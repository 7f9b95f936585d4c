import Glibc
import Subprocess
import SystemPackage
import Testing

@testable import notifyctl

@Suite struct JobExecutorTests {
    @Test func `all tasks run on one thread, in the order in which they were started`() async throws {
        let executor = try JobExecutor()
        let threads = await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: (Int, pthread_t).self) { group in
                for index in 0..<100 { group.addTask { (index, pthread_self()) } }
                return await group.reduce(into: [(Int, pthread_t)]()) { $0.append($1) }
            }
        }
        #expect(threads.map(\.0) == Array(0..<100))
        #expect(Set(threads.map(\.1)).count == 1)
    }

    @Test func `a task that is resumed from another thread continues`() async throws {
        let executor = try JobExecutor()
        let sum = await withTaskExecutorPreference(executor) {
            var sum = 0
            for index in 0..<1000 { sum += await Task.detached { index }.value }
            return sum
        }
        #expect(sum == 499_500)
    }

    @Test func `the ends of processes that run at the same time are reported`() async throws {
        let executor = try JobExecutor()
        let statuses = try await withTaskExecutorPreference(executor) {
            try await withThrowingTaskGroup(of: TerminationStatus?.self) { group in
                for status in 0..<5 {
                    group.addTask {
                        try await Subprocess.run(
                            .path("/bin/sh"), arguments: ["-c", "exit \(status)"], input: .none, output: .discarded,
                            error: .discarded
                        ) { execution in
                            await executor.end(of: execution.processIdentifier.processDescriptor)
                            return TerminationStatus(ofEnded: execution.processIdentifier.value)
                        }.closureResult
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
        }
        #expect(statuses == Set((0..<5).map { .exited($0) }))
    }
}

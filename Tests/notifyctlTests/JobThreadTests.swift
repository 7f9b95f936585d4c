import CGNU
import Glibc
import Subprocess
import Synchronization
import SystemPackage
import Testing

@testable import notifyctl

@Suite struct JobThreadTests {
    /// The names of steps, in their order.
    private final class Steps: Sendable {
        private let names = Mutex<[String]>([])

        var all: [String] { names.withLock { $0 } }

        func add(_ name: String) { names.withLock { $0.append(name) } }
    }

    @Test func `all tasks run on one thread, in the order in which they were started`() async throws {
        let executor = try JobExecutor(JobThread())
        let threads = await withTaskExecutorPreference(executor) {
            await withTaskGroup(of: (Int, pthread_t).self) { group in
                for index in 0..<100 { group.addTask { (index, pthread_self()) } }
                return await group.reduce(into: [(Int, pthread_t)]()) { $0.append($1) }
            }
        }
        #expect(threads.map(\.0) == Array(0..<100))
        #expect(Set(threads.map(\.1)).count == 1)
    }

    @Test(arguments: [false, true])
    func `a task that is resumed from another thread continues`(isBackground: Bool) async throws {
        let executor = JobExecutor(try JobThread(), isBackground: isBackground)
        let sum = await withTaskExecutorPreference(executor) {
            var sum = 0
            for index in 0..<1000 { sum += await Task.detached { index }.value }
            return sum
        }
        #expect(sum == 499_500)
    }

    @Test func `background tasks run when there are no others`() async throws {
        let thread = try JobThread()
        let (executor, background) = (JobExecutor(thread), JobExecutor(thread, isBackground: true))
        let steps = Steps()
        let last = await Task(executorPreference: executor) {
            let last = Task(executorPreference: background) { steps.add("background") }
            for _ in 0..<3 { Task(executorPreference: executor) { steps.add("other") } }
            return last
        }.value
        await last.value
        #expect(steps.all == ["other", "other", "other", "background"])
    }

    @Test func `background tasks wait for a start, which continues from another thread`() async throws {
        let thread = try JobThread(startMilliseconds: -1)
        let (executor, background) = (JobExecutor(thread), JobExecutor(thread, isBackground: true))
        let steps = Steps()
        let last = await Task(executorPreference: executor) {
            thread.beginStart()
            Task.immediate(executorPreference: background) {
                await Task.detached { steps.add("process") }.value
                steps.add("started")
                thread.endStart()
            }
            return Task(executorPreference: background) { steps.add("background") }
        }.value
        await last.value
        #expect(steps.all == ["process", "started", "background"])
    }

    @Test func `a start that does not end does not stop background tasks`() async throws {
        let thread = try JobThread()
        let (executor, background) = (JobExecutor(thread), JobExecutor(thread, isBackground: true))
        let last = await Task(executorPreference: executor) {
            thread.beginStart()
            return Task(executorPreference: background) { true }
        }.value
        #expect(await last.value)
    }

    @Test func `the cleanup of commands goes first once too many have ended`() async throws {
        let thread = try JobThread()
        let (executor, background) = (JobExecutor(thread), JobExecutor(thread, isBackground: true))
        for _ in 0...JobThread.maximumEnded {
            thread.beginStart()
            thread.endStart()
        }
        let steps = Steps()
        await Task(executorPreference: executor) {
            Task(executorPreference: background) { steps.add("cleanup") }
            for _ in 0..<3 {
                await Task.yield()
                steps.add("other")
            }
        }.value
        #expect(steps.all == ["cleanup", "other", "other", "other"])
    }

    // MARK: - Processes

    @Test func `background tasks run beside a command during another start`() async throws {
        let thread = try JobThread(startMilliseconds: -1)
        let (executor, background) = (JobExecutor(thread), JobExecutor(thread, isBackground: true))
        _ = try await Task(executorPreference: background) {
            try await Subprocess.run(
                .path("/bin/sleep"), arguments: ["1000"], input: .none, output: .discarded, error: .discarded
            ) { execution in
                let process = execution.processIdentifier.processDescriptor
                let end = Task.immediate(executorPreference: executor) { await thread.end(of: process) {} }
                let last = await Task(executorPreference: executor) {
                    thread.beginStart()
                    return Task(executorPreference: background) { true }
                }.value
                #expect(await last.value)
                thread.endStart()
                try execution.send(signal: .kill)
                await end.value
            }
        }.value
    }

    @Test func `the end of a process is reported before the task that waits for it continues`() async throws {
        let thread = try JobThread()
        let steps = Steps()
        _ = try await Task(executorPreference: JobExecutor(thread, isBackground: true)) {
            try await Subprocess.run(.path("/bin/true"), input: .none, output: .discarded, error: .discarded) {
                execution in
                await thread.end(of: execution.processIdentifier.processDescriptor) { steps.add("end") }
                steps.add("continues")
            }
        }.value
        #expect(steps.all == ["end", "continues"])
    }

    @Test func `the ends of processes that run at the same time are reported`() async throws {
        let thread = try JobThread()
        let statuses = try await withTaskExecutorPreference(JobExecutor(thread)) {
            try await withThrowingTaskGroup(of: TerminationStatus?.self) { group in
                for status in 0..<5 {
                    group.addTask {
                        try await Subprocess.run(
                            .path("/bin/sh"), arguments: ["-c", "exit \(status)"], input: .none, output: .discarded,
                            error: .discarded
                        ) { execution in
                            let end = JobEnd()
                            let process = execution.processIdentifier
                            await thread.end(of: process.processDescriptor) {
                                if let status = TerminationStatus(ofEnded: process.value) { end.set(.success(status)) }
                            }
                            return try await end.status
                        }.closureResult
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
        }
        #expect(statuses == Set((0..<5).map { .exited($0) }))
    }

    @Test func `an invalid descriptor is not waited for`() async throws {
        let thread = try JobThread()
        await Task(executorPreference: JobExecutor(thread)) {
            await thread.end(of: -1) { Issue.record("there is no process") }
        }.value
    }

    @Test func `an end that is reported at once is not lost, whichever thread waits for it`() async throws {
        let thread = try JobThread()
        // As readable as the descriptor of a process that has ended.
        let ended = eventfd(1, 0)
        defer { close(ended) }
        let steps = Steps()
        for _ in 0..<2_000 { await Task.detached { await thread.end(of: ended) { steps.add("end") } }.value }
        #expect(steps.all.count == 2_000)
    }
}

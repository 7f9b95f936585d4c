import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension RealTimeTests {
    /// A daemon that is stopped and continued, as in a frozen container or under a debugger.
    @Suite struct StandstillTests {
        @Test func `a job is not handed out again after the daemon stood still for longer than its deadline`()
            async throws
        {
            let daemon = try await Daemon.start()
            let worker = try RawClient(daemon)
            let settings = DurableSettingChanges(deadlineMicroseconds: 60_000_000)
            try worker.send(
                Subscribe(
                    request: worker.newRequest(), subscription: 1, patterns: ["jobs"], durableName: "jobs",
                    sharing: .group, settings: settings))
            _ = try worker.wait("the answer") { if case .subscribed(let answer) = $0 { answer } else { nil } }
            let poster = try RawClient(daemon)
            try poster.post("jobs", durability: .stored)
            let job = try worker.message()
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            // The daemon has to stand still for longer than the deadline.
            try await Task.sleep(for: .seconds(70))
            daemon.process.send(SIGCONT)
            try worker.ping()
            try worker.acknowledge(1, through: job.stamp.sequence)
            try worker.ping()
            try poster.post("jobs", durability: .stored)
            let next = try worker.message()
            #expect(next.stamp.sequence > job.stamp.sequence)
            #expect(try poster.statistics()["redelivered"] == 0)
        }

        @Test(arguments: [true, false])
        func `a job is not handed out again after daemon, workers and job stood still together`(
            isDaemonFirst: Bool
        ) async throws {
            let daemon = try await Daemon.start()
            let folder = try TemporaryFolder()
            #expect(mkfifo(folder.file("gate"), 0o600) == 0)
            var notifyctl = Notifyctl(daemon)
            notifyctl.environment = ["GATE": folder.file("gate")]
            // After the standstill, the job runs on for longer than its deadline.
            let work = [
                "work", "jobs", "--durable", "jobs", "--group", "--deadline", "60s", "--", "sh", "-c",
                "echo $NOTIFY_DELIVERY $$; read _ <$GATE; sleep 70; echo done",
            ]
            let poster = try RawClient(daemon)
            var workers: [ChildProcess] = []
            var jobs: [pid_t] = []
            for _ in 0..<2 {
                workers.append(try notifyctl.start(work))
                try daemon.waitForSubscriptions(1)
                try poster.post("jobs", durability: .stored)
                // The other worker, if there is one, is busy.
                let line = try await workers[workers.count - 1].waitForLines(1)[0].split(separator: " ")
                #expect(line[0] == "1")
                jobs.append(try #require(pid_t(line[1])))
            }

            let processes = [daemon.process] + workers
            for job in jobs { kill(job, SIGSTOP) }
            for process in processes.reversed() { process.send(SIGSTOP) }
            for process in processes { try process.waitUntilStopped() }
            // All have to stand still for longer than the deadline.
            try await Task.sleep(for: .seconds(70))
            for process in isDaemonFirst ? processes : processes.reversed() { process.send(SIGCONT) }
            for job in jobs { kill(job, SIGCONT) }

            let gate = try FileHandle(forWritingTo: URL(filePath: folder.file("gate")))
            try gate.write(contentsOf: Data("go\ngo\n".utf8))
            for worker in workers {
                #expect(try await worker.waitForLines(2)[1] == "done")
                worker.send(SIGTERM)
                #expect(try await worker.waitForExit() == .status(0))
                #expect(try await worker.standardOutput.wait("the end") { $0.isAtEnd ? $0.lineCount : nil } == 2)
            }
            try gate.close()
            #expect(try poster.statistics()["redelivered"] == 0)
        }
    }
}

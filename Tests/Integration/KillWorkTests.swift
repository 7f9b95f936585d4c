import Foundation
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Workers and the daemon are killed while jobs run.
    @Suite struct KillWorkTests {
        private static let workers = 20
        private static let parallel = 2
        /// The number of jobs. 100,000 jobs take some minutes.
        private static let jobs = ProcessInfo.processInfo.environment["NOTIFYD_KILL_JOBS"].flatMap { Int($0) } ?? 4_000
        private static let daemonKills = 10

        private let folder: TemporaryFolder

        init() throws {
            folder = try TemporaryFolder()
        }

        @Test func `every job runs, and only jobs in flight at a kill run again`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("killed workers: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            try await Self.createJobs(notifyctl, daemon)

            var workers: [ChildProcess] = []
            for _ in 0..<Self.workers { workers.append(try start(notifyctl)) }
            var (workerKills, daemonKills) = (0, 0)
            var done = 0
            let end = ContinuousClock.now + .seconds(60 + Self.jobs / 20)
            while ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...120, using: &random)))
                done = Set(ran().map(String.init)).count
                if done == Self.jobs { break }
                if daemonKills < Self.daemonKills, done * (Self.daemonKills + 1) > daemonKills * Self.jobs {
                    try await daemon.kill()
                    try await daemon.start()
                    daemonKills += 1
                } else {
                    let number = Int.random(in: 0..<Self.workers, using: &random)
                    workers[number].send(SIGKILL)
                    _ = try await workers[number].waitForExit()
                    workers[number] = try start(notifyctl)
                    workerKills += 1
                }
            }
            for worker in workers { worker.send(SIGTERM) }
            for worker in workers { _ = try await worker.waitForExit() }

            #expect(done == Self.jobs)
            #expect(daemonKills == Self.daemonKills)
            let all = ran()
            let repeats = all.count - done
            print("killed workers: \(workerKills), daemon \(daemonKills) times, \(all.count) runs of \(done) jobs")
            let bound = workerKills * Self.parallel + daemonKills * Self.workers * Self.parallel
            #expect(repeats <= bound)
            let letters = try await notifyctl.run("dead", "list", "--json")
            #expect(try letters.objects.isEmpty)
            let list = try #require(try await notifyctl.run("durable", "list", "--json").objects.first)
            #expect(list["pending_messages"] as? Int == 0 && list["waiting"] as? Int == 0)
        }

        private static func createJobs(_ notifyctl: Notifyctl, _ daemon: Daemon) async throws {
            let created = try await notifyctl.run(
                "durable", "create", "w", "jobs.>", "--group", "--retry-after", "10ms", "--max-deliveries", "0")
            #expect(created.status == .status(0))
            let client = try RawClient(daemon)
            for first in stride(from: 0, to: jobs, by: 100) {
                let requests = try (first..<min(first + 100, jobs)).map { try client.send(post: "jobs.a", "\($0)\n") }
                for request in requests { _ = try client.receipt(of: request) }
            }
        }

        private func start(_ notifyctl: Notifyctl) throws -> ChildProcess {
            try notifyctl.start([
                "work", "jobs.>", "--durable", "w", "--group", "--parallel", "\(Self.parallel)", "--", "sh", "-c",
                "read job; echo $job >>'\(folder.path)/ran'",
            ])
        }

        /// The jobs that ran, in order, repeats included.
        private func ran() -> [Substring] {
            let text = (try? String(contentsOfFile: folder.path + "/ran", encoding: .utf8)) ?? ""
            return text.split(separator: "\n")
        }
    }
}

import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    @Suite struct JobQueueTests {
        /// Runs the job queue of the article with a job that waits and a job that fails. Settings with short delays
        /// replace the default settings.
        @Test func `the job queue survives kills of worker and daemon, and retries a dead letter`() async throws {
            let article = try Page("Sources/notifyctl/notifyctl.docc/Queue.md")
            let commands = try #require(article.blocks.first { $0.needsJob }).lines.map { line in
                line.dropFirst(2).prefix { $0 != "#" }
            }
            try #require(commands.count == 3)
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            let folder = try TemporaryFolder()
            try """
            #!/bin/sh
            read job
            echo $job $$
            case $job in
            slow) [ -e go ] || exec sleep 1000 ;;
            bad) [ -e mended ] || exit 3 ;;
            esac
            """.write(toFile: folder.path + "/job", atomically: true, encoding: .utf8)
            chmod(folder.path + "/job", 0o755)
            let created = try await notifyctl.run(
                "durable", "create", "workers", "jobs.>", "--group", "--retry-after", "10ms", "--max-deliveries", "4")
            #expect(created.status == .status(0))
            let programs = URL(filePath: Programs.notifyctl).deletingLastPathComponent().path
            let path = programs + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
            let work = {
                try ChildProcess(
                    "sh", ["-c", "cd '\(folder.path)' && exec \(commands[0])"],
                    environment: Daemon.clean.merging(["PATH": path, "NOTIFYD_SOCKET": daemon.socket]) { $1 })
            }
            let first = try work()
            let posted = try await notifyctl.shell(String(commands[1]))
            #expect(posted.status == .status(0), "\(posted.errors)")
            for job in ["slow", "bad", "good"] {
                #expect(try await notifyctl.run("post", "jobs.resize", job).status == .status(0))
            }
            let before = try await first.waitForLines(2)
            #expect(before[0].hasPrefix("cat.png") && before[1].hasPrefix("slow"))
            first.send(SIGKILL)
            try await first.waitForExit()
            try kill(#require(Int32(before[1].dropFirst("slow ".count))), SIGKILL)
            try await daemon.kill()
            try Data().write(to: URL(filePath: folder.path + "/go"))
            try await daemon.start()

            let letters = try RawClient(daemon)
            try letters.subscribe("notifyd.dead.\(getuid())", durable: "letters", window: 1)
            let second = try work()
            _ = try letters.message("the dead letter")
            let list = try await notifyctl.shell(commands[2] + " --json").objects
            #expect(list.count == 1 && list.first?["reason"] as? String == "exit status 3")
            try await second.standardOutput.wait("every job") { output in
                let jobs = output.lines.compactMap { $0.split(separator: " ").first }
                return jobs.count { $0 == "bad" } == 4 && Set(jobs).isSuperset(of: ["slow", "good"]) ? () : nil
            }
            try Data().write(to: URL(filePath: folder.path + "/mended"))
            #expect(try await notifyctl.run("dead", "retry", "workers").status == .status(0))
            try await second.standardOutput.wait("the failed job") { output in
                output.lines.count { $0.hasPrefix("bad ") } == 5 ? () : nil
            }
            second.send(SIGTERM)
            #expect(try await second.waitForExit() == .status(0))
            #expect(try await notifyctl.run("dead", "list", "--json").objects.isEmpty)
        }
    }
}

import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// The examples in the README work as printed.
    @Suite struct ReadmeTests {
        private let readme: String

        init() throws {
            readme = try String(contentsOfFile: Programs.repository + "/README.md", encoding: .utf8)
        }

        /// Returns the contents of the code blocks in a language.
        private func blocks(_ language: String) -> [String] {
            readme.components(separatedBy: "```\(language)\n").dropFirst().compactMap {
                $0.components(separatedBy: "```\n").first
            }
        }

        @Test func `the Swift examples are the compiled ones`() throws {
            let compiled = try ["ReadmeExample", "ReadmeCenterExample"].map {
                try String(
                    contentsOfFile: Programs.repository + "/Tests/Integration/\($0).swift", encoding: .utf8)
            }
            #expect(blocks("swift") == compiled)
        }

        @Test func `every test listed for the five designs exists`() throws {
            let table = try String(
                contentsOfFile: Programs.repository + "/Sources/NotifyCenter/NotifyCenter.docc/FiveDesigns.md",
                encoding: .utf8)
            var rows = 0
            var tests = ""
            for line in table.split(separator: "\n") where line.hasPrefix("|") {
                if let file = line.firstMatch(of: /`(Tests\/.*?\.swift)`/) {
                    tests = try String(contentsOfFile: Programs.repository + "/" + file.output.1, encoding: .utf8)
                }
                guard let name = line.firstMatch(of: /`([^`]*)` \|$/)?.output.1 else { continue }
                #expect(tests.contains("func `\(name)`("), "\(name)")
                rows += 1
            }
            #expect(rows > 30)
        }

        @Test func `the shell session prints what the README shows`() async throws {
            let daemon = try await Daemon.start()
            let commands = try #require(blocks("console").first).components(separatedBy: "$ ").dropFirst()
            #expect(commands.count == 7)
            let time = /in [0-9.]+ .s, [0-9]+\/s/
            for text in commands {
                let lines = text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
                let folder = URL(filePath: Programs.notifyctl).deletingLastPathComponent().path
                let path = folder + ":" + (ProcessInfo.processInfo.environment["PATH"] ?? "")
                let process = try ChildProcess(
                    "sh", ["-c", String(lines[0])], environment: ["PATH": path, "NOTIFYD_SOCKET": daemon.socket])
                let status = try await process.waitForExit()
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0.text : nil }
                let output = try await process.standardOutput.wait("the end of output") { $0.isAtEnd ? $0.text : nil }
                #expect(status == .status(0), "\(lines[0]): \(errors)")
                let printed = (output + errors).replacing(time, with: "")
                #expect(printed == lines[1].replacing(time, with: ""), "\(lines[0])")
            }
        }

        /// Runs the README's job queue with a job that waits and one that fails. Settings with short delays replace the
        /// default ones.
        @Test func `the job queue survives kills of worker and daemon, and retries a dead letter`() async throws {
            let commands = try #require(blocks("console").dropFirst().first).split(separator: "\n").map { line in
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
                    environment: ["PATH": path, "NOTIFYD_SOCKET": daemon.socket])
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

        @Test(arguments: ["README.md", "Sources/README.md"])
        func `every linked file exists`(_ page: String) throws {
            let file = URL(filePath: Programs.repository).appending(path: page)
            let text = try String(contentsOf: file, encoding: .utf8)
            let links = text.matches(of: /\]\(([^):#]+)(?:#[^)]*)?\)/).map { String($0.output.1) }
            #expect(links.count > 10)
            for link in links {
                let target = file.deletingLastPathComponent().appending(path: link).path()
                #expect(FileManager.default.fileExists(atPath: target), "\(link)")
            }
        }
    }
}

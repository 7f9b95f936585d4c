import Foundation
import Glibc
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// `notifyctl work`, with real commands.
    @Suite struct NotifyctlWorkTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        /// Starts `work` with a shell script as its command, and returns once it has attached.
        private func work(_ options: [String] = [], script: String) throws -> ChildProcess {
            let process = try start(["--retry-after", "10ms"] + options, script: script)
            try daemon.waitForSubscriptions(1)
            return process
        }

        private func deadLetters() async throws -> [[String: Any]] {
            let result = try await notifyctl.run("dead", "list", "--json")
            return try result.objects
        }

        /// Waits for dead letters, and lists them.
        private func waitForDeadLetters(_ count: Int) async throws -> [[String: Any]] {
            let client = try RawClient(daemon)
            // A durable subscription receives them after the commit.
            try client.subscribe("notifyd.dead.\(getuid())", durable: "letters", from: .oldest)
            for number in 1...count { _ = try client.message("dead letter \(number)") }
            try client.detach()
            try client.remove("letters")
            return try await deadLetters()
        }

        @Test func `a command gets the payload, and the fields of the message as variables`() async throws {
            let worker = try work(
                script: """
                    cat | od -An -tx1 | tr -d ' \n'
                    echo " $NOTIFY_NAME ${NOTIFY_OBJECT-none} $NOTIFY_SEQUENCE $NOTIFY_UID $NOTIFY_PID $NOTIFY_DELIVERY"
                    echo "$NOTIFY_HEADER_X_TRACE_ID|$NOTIFY_HEADER______|$NOTIFY_TIME"
                    """)
            let headers = try HeaderList.encode([("x-trace.id", "a b \"c"), ("=é/ ", "odd"), ("nul", "a\u{0}b")])
            let request = poster.newRequest()
            try poster.send(
                postFrame(
                    request, name: Array("jobs.a".utf8), object: Array("o".utf8), headers: headers,
                    payload: [0, 10, 255]))
            let lines = try await worker.waitForLines(2)
            #expect(lines[0] == "000aff jobs.a o 1 \(getuid()) \(getpid()) 1")
            #expect(lines[1].hasPrefix("a b \"c|odd|20"))
            try await stop(worker)
        }

        @Test func `the exit status of a command decides the answer to its message`() async throws {
            let script = """
                read job
                echo "$job $NOTIFY_DELIVERY"
                case $job in
                done) exit 0 ;;
                bad) exit 65 ;;
                later) [ -e "$FOLDER/later" ] && exit 0; touch "$FOLDER/later"; exit 75 ;;
                signal) kill -9 $$ ;;
                *) exit 3 ;;
                esac
                """
            var notifyctl = notifyctl
            notifyctl.environment = ["FOLDER": folder.path]
            let process = try notifyctl.start(
                [
                    "work", "jobs.>", "--durable", "w", "--group", "--retry-after", "10ms", "--max-deliveries", "2",
                    "--",
                    "sh", "-c", script,
                ])
            try daemon.waitForSubscriptions(1)
            try post("done\n", "bad\n", "later\n", "signal\n", "other\n")
            let letters = try await waitForDeadLetters(3)
            #expect(
                Set(letters.compactMap { $0["reason"] as? String }) == [
                    "exit status 65", "exit status 3", "ended by signal 9 (SIGKILL)",
                ])
            #expect(letters.map { $0["deliveries"] as? Int }.sorted { $0 ?? 0 < $1 ?? 0 } == [1, 2, 2])
            let lines = try await process.waitForLines(8)
            #expect(lines.filter { $0.hasPrefix("later") } == ["later 1", "later 1"], "a return does not count")
            #expect(lines.filter { $0.hasPrefix("other") } == ["other 1", "other 2"])
            try await stop(process)
        }

        @Test func `'dead retry' runs a dead letter again`() async throws {
            let worker = try work(
                ["--max-deliveries", "1"], script: "read job; echo $job; [ -e '\(folder.path)/mended' ]")
            try post("one\n")
            #expect(try await waitForDeadLetters(1).count == 1)
            try Data().write(to: URL(filePath: folder.path + "/mended"))
            #expect(try await notifyctl.run("dead", "retry", "w").status == .status(0))
            #expect(try await worker.waitForLines(2) == ["one", "one"])
            try await stop(worker)
            #expect(try await deadLetters().isEmpty)
            let list = try await notifyctl.run("durable", "list", "--json")
            #expect(try list.objects.first?["pending_messages"] as? Int == 0)
        }

        @Test(arguments: ["nonexistent-command", "./nonexistent-command", "/etc/passwd"])
        func `a file that is not a program is refused before subscribing`(_ program: String) async throws {
            for command in [["work", "jobs", "--durable", "w"], ["wait", "jobs"], ["subscribe", "jobs", "--exec"]] {
                let process = try notifyctl.start(command + ["--", program])
                #expect(try await process.waitForExit() == .status(127))
            }
            #expect(try await notifyctl.run("durable", "list", "--json").objects.isEmpty)
        }

        @Test(arguments: [
            ("exit 126", "can't be started: exit status 126"), ("exit 127", "can't be started: exit status 127"),
            ("#!/nonexistent/interpreter", "the interpreter in its first line is missing"),
            ("true", "such as '#!/bin/sh'"),
        ])
        func `a command that can't be started ends 'work', and its message is kept`(
            script: String, error: String
        ) async throws {
            var command = ["sh", "-c", script]
            if !script.hasPrefix("exit") {
                command = [folder.path + "/job"]
                try Data(script.utf8).write(to: URL(filePath: command[0]))
                #expect(chmod(command[0], 0o700) == 0)
            }
            let process = try notifyctl.start(["work", "jobs.>", "--durable", "w", "--group", "--"] + command)
            try daemon.waitForSubscriptions(1)
            try post("one")
            #expect(try await process.waitForExit() == .status(127))
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            expectText(errors.text, error)
            let worker = try work(script: "echo $(cat) $NOTIFY_DELIVERY")
            #expect(try await worker.waitForLines(1) == ["one 1"], "the first delivery does not count")
            try await stop(worker)
        }

        @Test(arguments: [(SIGTERM, SIGINT), (SIGINT, SIGHUP), (SIGHUP, SIGTERM)])
        func `running commands finish after a signal, and a second signal is passed on to them`(
            _ first: Int32, _ second: Int32
        ) async throws {
            let worker = try work(
                script: """
                    cat
                    trap 'echo passed' INT TERM HUP
                    echo started
                    until [ -e '\(folder.path)/go' ]; do sleep 0.05; done
                    echo end
                    """)
            try post("one\n", "two\n")
            #expect(try await worker.waitForLines(2) == ["one", "started"])
            worker.send(first)
            worker.send(second)
            // The signal that was handled first ends the work, and the other signal is passed on.
            #expect(try await worker.waitForLines(3).last == "passed")
            #expect(!worker.hasExited, "work waits for the running command")
            try Data().write(to: URL(filePath: folder.path + "/go"))
            #expect(try await worker.waitForExit() == .status(0))
            let output = try await worker.standardOutput.wait("end of output") { $0.isAtEnd ? $0 : nil }
            #expect(output.lines == ["one", "started", "passed", "end"])
            let errors = try await worker.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            #expect(
                errors.text.contains("notifyctl: waiting for the command that runs: a second signal is passed on\n"))
            let next = try work(script: "cat")
            #expect(try await next.waitForLines(1) == ["two"])
            try await stop(next)
        }

        @Test func `nohup keeps SIGHUP ignored`() async throws {
            let process = try ChildProcess(
                "/usr/bin/nohup",
                [Programs.notifyctl, "work", "jobs.>", "--durable", "w", "--group", "--", "cat"],
                environment: Daemon.clean.merging(["NOTIFYD_SOCKET": daemon.socket]) { $1 })
            try daemon.waitForSubscriptions(1)
            process.send(SIGHUP)
            try post("one\n")
            #expect(try await process.waitForLines(1) == ["one"])
            try await stop(process)
        }

        @Test func `exit statuses are known although the parent of 'work' ignores SIGCHLD`() async throws {
            let work = "\"$NOTIFYCTL\" work 'jobs.>' --durable w --group -- sh -c 'cat; exit 65'"
            let process = try shell("exec env --ignore-signal=CHLD \(work)")
            try daemon.waitForSubscriptions(1)
            try post("one\n", "two\n")
            #expect(try await process.waitForLines(2) == ["one", "two"])
            #expect(try await waitForDeadLetters(2).count == 2)
            try await stop(process)
        }

        @Test func `'work' ends without a failed job when the reader of its output closes the pipe`() async throws {
            let process = try shell(
                "\"$NOTIFYCTL\" work 'jobs.>' --durable w --group -- cat | head -n 1; echo end")
            try daemon.waitForSubscriptions(1)
            try post((0..<100).map { "\($0)\n" })
            #expect(try await process.waitForLines(2) == ["0", "end"])
            #expect(try await deadLetters().isEmpty)
            let worker = try work(script: "echo $(cat) $NOTIFY_DELIVERY")
            // Messages that were given back may come in another order.
            let end = try await worker.standardOutput.wait("the last job") { output in
                output.lines.contains("99 1") ? output.lines : nil
            }
            #expect(end.allSatisfy { $0.hasSuffix(" 1") }, "no delivery has failed")
            try await stop(worker)
        }

        @Test(arguments: [[], ["--prefix"]])
        func `the output of a command is not kept in memory`(_ options: [String]) async throws {
            let bytes = options.isEmpty ? 1 << 30 : 64 << 20
            let line = String(repeating: "x", count: 99)
            let command = "yes \(line) | head -c \(bytes); echo done >&2"
            let process = try shell(
                "exec \"$NOTIFYCTL\" work 'jobs.>' --durable w --group \(options.joined()) -- sh -c \"\(command)\" >/dev/null"
            )
            try daemon.waitForSubscriptions(1)
            try post("one")
            let errors = try await process.standardError.wait("the command") { $0.lineCount > 0 ? $0.lines : nil }
            #expect(errors == [options.isEmpty ? "done" : "jobs.a: done"])
            let status = try String(contentsOfFile: "/proc/\(process.pid)/status", encoding: .utf8)
            let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
            let kibibytes = try #require(peak?.split(separator: " ").dropFirst().first.flatMap { Int($0) })
            #expect(kibibytes < 128 << 10)
            try await stop(process)
        }

        @Test func `with --prefix, each line follows the name of its message`() async throws {
            let worker = try work(["--prefix"], script: "cat; echo error >&2")
            try post("a\nb\n\nrest")
            #expect(
                try await worker.waitForLines(4) == ["jobs.a: a", "jobs.a: b", "jobs.a: ", "jobs.a: rest"])
            let errors = try await worker.standardError.wait("a line") { $0.lineCount > 0 ? $0.lines : nil }
            #expect(errors == ["jobs.a: error"])
            try await stop(worker)
        }

        @Test func `with --prefix, a job ends when its command exits, not when its output ends`() async throws {
            let worker = try work(
                ["--prefix"], script: "case $(cat) in one) yes & echo $! >&2;; *) echo end >&2;; esac")
            try post("one", "two")
            // The second command starts after the first one was answered.
            let lines = try await worker.standardError.wait("the second command") {
                $0.lineCount >= 2 ? $0.lines : nil
            }
            #expect(lines.last == "jobs.a: end")
            let pid = try #require(Int32(lines[0].dropFirst("jobs.a: ".count)))
            kill(pid, SIGKILL)
            try await stop(worker)
        }

        @Test func `commands inherit the environment of notifyctl as bytes`() async throws {
            let command = "'\(Programs.notifyctl)' work 'jobs.>' --durable w --group -- sh -c "
            let script =
                "printf %s \\\"\\$ODD\\\" | od -An -tx1; echo \\${LIBDISPATCH_LOG-unset} \\${NOTIFY_OBJECT-unset}"
            let process = try shell(
                "export ODD=$(printf 'a\\377'); exec \(command) \"\(script)\"", ["NOTIFY_OBJECT": "o"])
            try daemon.waitForSubscriptions(1)
            try post("one")
            #expect(try await process.waitForLines(2) == [" 61 ff", "unset unset"])
            try await stop(process)
        }

        @Test(arguments: [("--other", "TS"), ("--batch", "B")])
        func `commands inherit the scheduling policy of notifyctl`(option: String, policy: String) async throws {
            let process = try shell(
                "exec chrt \(option) 0 \"$NOTIFYCTL\" work 'jobs.>' --durable w -- sh -c 'ps -o cls= -p $$'")
            try daemon.waitForSubscriptions(1)
            try post("one")
            #expect(try await process.waitForLines(1)[0].trimmingCharacters(in: .whitespaces) == policy)
            try await stop(process)
        }

        @Test func `a command that never reads, and a command whose child stays, do not block others`() async throws {
            let worker = try work(script: "sleep 1000 & echo $!; exit 0")
            let large = String(repeating: "x", count: 1_000_000)
            for _ in 0..<3 { try post(large) }
            let pids = try await worker.waitForLines(3).compactMap { Int32($0) }
            #expect(pids.count == 3)
            try await stop(worker)
            for pid in pids { kill(pid, SIGKILL) }
            let list = try await notifyctl.run("durable", "list", "--json").objects
            #expect(list.first?["pending_messages"] as? Int == 0)
        }

        @Test func `short commands need few descriptors, also on one processor`() async throws {
            #expect(try await notifyctl.run("durable", "create", "w", "jobs.>", "--group").status == .status(0))
            for number in 0..<2_000 { try poster.post("jobs.a", "\(number)") }
            let work = "exec taskset -c 0 \"$NOTIFYCTL\" work 'jobs.>' --durable w --group --parallel 4"
            let process = try shell("ulimit -n 160; \(work) --prefix -- sh -c 'echo x'")
            _ = try await process.waitForLines(2_000)
            try await stop(process)
        }

        @Test func `a command that runs longer than --timeout is ended`() async throws {
            let worker = try work(["--timeout", "200ms", "--max-deliveries", "1"], script: "sleep 1000")
            try post("one")
            let letters = try await waitForDeadLetters(1)
            #expect(letters.first?["reason"] as? String == "timed out after 0.2 s")
            try await stop(worker)
        }

        @Test func `after the death of the worker and of the daemon, the unacknowledged jobs run`() async throws {
            let script = "read job; echo $job"
            let first = try work(script: script)
            let sequences = try (0..<50).map { try poster.post("jobs.a", "\($0)\n").sequence }
            first.send(SIGKILL)
            _ = try await first.waitForExit()
            // The lines include the output of a command that has survived the worker.
            let before = try await first.standardOutput.wait("the end of output") { $0.isAtEnd ? $0.lines : nil }
            // The daemon has read what the worker had sent.
            try daemon.waitForSubscriptions(0)
            // The cursor has passed the jobs that wait for another delivery because the worker had received them.
            let cursor = try #require(try poster.list().first).cursor
            let later = (0..<50).filter { sequences[$0] > cursor }.map { "\($0)" }
            let list = try await notifyctl.run("durable", "list", "--json").objects
            let count = try later.count + #require(list.first?["waiting"] as? Int)
            // The acknowledgements are stored with the next batch.
            try poster.post("other", durability: .stored)
            try await daemon.kill()
            try await daemon.start()
            let second = try work(script: script)
            _ = try await second.waitForLines(count)
            try await stop(second)
            let after = try await second.standardOutput.wait("the end") { $0.isAtEnd ? $0.lines : nil }.map(String.init)
            #expect(after.count == count && Set(after).isSuperset(of: later))
            #expect(Set(before.map(String.init) + after).count == 50)
        }

        @Test func `a job queue survives kills, and a job that fails is reported and repeated`() async throws {
            // The job "bad" fails until the file `mended` exists. Other jobs run until the file `released` exists.
            let job = folder.path + "/job"
            try Data(
                """
                #!/bin/sh
                read -r job
                echo "starts $job"
                if [ "$job" = bad ]; then [ -e '\(folder.path)/mended' ] || exit 1; fi
                until [ -e '\(folder.path)/released' ] || [ "$job" = bad ]; do sleep 0.01; done
                echo "ends $job"

                """.utf8
            ).write(to: URL(filePath: job))
            #expect(chmod(job, 0o700) == 0)
            func startWorker() throws -> ChildProcess {
                try notifyctl.start(
                    ["work", "jobs.>", "--durable", "workers", "--group", "--retry-after", "10ms", "--", job])
            }
            let first = try startWorker()
            try daemon.waitForSubscriptions(1)
            #expect(try await notifyctl.run("post", "jobs.resize", "good\n").status == .status(0))
            #expect(try await notifyctl.run("post", "jobs.resize", "bad\n").status == .status(0))
            #expect(try await first.waitForLines(1) == ["starts good"])
            first.send(SIGKILL)
            try Data().write(to: URL(filePath: folder.path + "/released"))
            _ = try await first.waitForExit()
            try await daemon.kill()
            try await daemon.start()

            let second = try startWorker()
            #expect(try await waitForDeadLetters(1).count == 1)
            let listed = try await notifyctl.run("dead", "list")
            #expect(listed.output.contains("workers") && listed.output.contains("status 1"))
            let lines = try await second.waitForLines(7)
            #expect(lines.filter { $0 == "starts bad" }.count == 5)
            #expect(lines.contains("ends good"))

            try Data().write(to: URL(filePath: folder.path + "/mended"))
            #expect(try await notifyctl.run("dead", "retry", "workers").status == .status(0))
            #expect(try await second.waitForLines(9).suffix(2) == ["starts bad", "ends bad"])
            try await stop(second)
            #expect(try await deadLetters().isEmpty)
        }

        @Test func `settings and a '--from' that have no effect are reported, and 'work' continues`() async throws {
            for (options, isReported) in [
                (["--max-deliveries", "3"], false), (["--max-deliveries", "3"], false),
                (["--max-deliveries", "4", "--from", "oldest"], true),
            ] {
                let worker = try work(options, script: "cat; echo")
                try post("a job")
                #expect(try await worker.waitForLines(1) == ["a job"])
                try await stop(worker)
                let errors = try await worker.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                let reports = errors.lines.filter { $0.contains("'w' exists") }
                #expect(reports.count == (isReported ? 2 : 0), "\(errors.text)")
                guard isReported else { continue }
                expectText(errors.text, "'w' exists and keeps --max-deliveries 3; to change this, use")
                expectText(errors.text, "'w' exists and resumes after sequence")
            }
            let settings = try await notifyctl.run("durable", "show", "w")
            expectText(settings.output, "max deliveries 3\n")
        }

        @Test func `a missing command is reported as wrong usage`() async throws {
            let result = try await notifyctl.run("work", "a", "--durable", "w", "--")
            #expect(result.status == .status(64))
            expectText(result.errors, "the command to run is missing: add it after '--'")
        }
    }
}

import Foundation
import Glibc
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The end of `notifyctl work`, and its need of descriptors.
    @Suite struct WorkEndTests: WorkSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        private func post(_ count: Int) throws {
            try post((0..<count).map { "\($0)\n" })
        }

        @Test func `the stop of one of two members loses no message, and no delivery fails`() async throws {
            let script = "read job; echo $job $NOTIFY_DELIVERY"
            let first = try start(script: script)
            try daemon.waitForSubscriptions(1)
            let second = try start(script: script)
            try post(400)
            _ = try await second.waitForLines(5)
            _ = try await first.waitForLines(5)
            try await stop(first)
            let early = try await first.standardOutput.wait("the end of output") { $0.isAtEnd ? $0.lines : nil }
            let late = try await second.waitForLines(400 - early.count)
            try await stop(second)
            #expect((early + late).sorted() == (0..<400).map { Substring("\($0) 1") }.sorted())
        }

        @Test func `a command that can't be started is reported although the detach is not confirmed`() async throws {
            var notifyctl = notifyctl.impatient
            notifyctl.environment["DAEMON"] = "\(daemon.process.pid)"
            let worker = try notifyctl.start([
                "work", "jobs.>", "--durable", "w", "--group", "--", "sh", "-c", "kill -STOP $DAEMON; exit 127",
            ])
            try daemon.waitForSubscriptions(1)
            try post(1)
            #expect(try await worker.waitForExit() == .status(127))
            daemon.process.send(SIGCONT)
        }

        @Test(arguments: ["exec sleep 1000", "trap 'exit 143' TERM; sleep 1000 & wait", "sleep 1000 & wait"])
        func `a stop of 'work' together with its command is not a failure, however often`(script: String) async throws {
            #expect(try await notifyctl.run("durable", "create", "w", "jobs.>", "--group").status == .status(0))
            try post(1)
            for round in 0..<7 {
                let worker = try start(script: "echo $NOTIFY_DELIVERY $$; \(script)")
                let line = try await worker.waitForLines(1)[0].split(separator: " ")
                #expect(line[0] == "1", "round \(round)")
                let job = try #require(Int32(line[1]))
                // A service manager signals all processes of a service, in no defined order.
                if round.isMultiple(of: 2) {
                    try stop(worker, after: job)
                } else {
                    worker.send(SIGTERM)
                    kill(job, SIGTERM)
                }
                let end = try await worker.waitForExit()
                #expect(end == .status(0), "round \(round): \(worker.standardError.current.text)")
                kill(-job, SIGKILL)
            }
            #expect(try await notifyctl.run("dead", "list", "--json").objects.isEmpty)
        }

        /// Sends SIGTERM to a command, then to notifyctl. After the end of the command, notifyctl waits only a second
        /// for its own signal, so it is suspended meanwhile: when it continues, it finds the end and the signal.
        private func stop(_ process: ChildProcess, after job: pid_t) throws {
            process.send(SIGSTOP)
            try process.waitUntilStopped()
            kill(job, SIGTERM)
            process.send(SIGTERM)
            process.send(SIGCONT)
        }

        @Test func `a signal that ends only the command is a failure`() async throws {
            let worker = try start(["--retry-after", "10ms"], script: "echo $NOTIFY_DELIVERY; kill -TERM $$")
            try daemon.waitForSubscriptions(1)
            try post(1)
            #expect(try await worker.waitForLines(2) == ["1", "2"])
            try await stop(worker)
        }

        @Test func `a stop of 'wait' together with its command is not a failure`() async throws {
            #expect(try await notifyctl.run("durable", "create", "w", "jobs.>").status == .status(0))
            try post(1)
            for _ in 0..<2 {
                let waiter = try notifyctl.start([
                    "wait", "jobs.>", "--durable", "w", "--", "sh", "-c", "echo $NOTIFY_DELIVERY $$; exec sleep 1000",
                ])
                let line = try await waiter.waitForLines(1)[0].split(separator: " ")
                #expect(line[0] == "1")
                try stop(waiter, after: try #require(Int32(line[1])))
                #expect(try await waiter.waitForExit() == .status(1))
            }
        }

        @Test func `a signal ends 'work' although the daemon does not answer`() async throws {
            let work = ["work", "jobs.>", "--durable", "w", "--group", "--", "echo", "started"]
            let worker = try notifyctl.impatient.start(work)
            try daemon.waitForSubscriptions(1)
            try post(1)
            _ = try await worker.waitForLines(1)
            daemon.process.send(SIGSTOP)
            try daemon.process.waitUntilStopped()
            let late = try notifyctl.impatient.start(work)
            for process in [worker, late] {
                process.send(SIGTERM)
                _ = try await process.waitForExit(within: .seconds(60))
            }
            daemon.process.send(SIGCONT)
        }

        @Test func `a second signal ends 'work' although the reader of its output has stalled`() async throws {
            // 60,000 bytes fit into the pipe of the command. With the prefixes they do not fit into the reader's pipe.
            let process = try shell(
                """
                cd "$FOLDER"
                mkfifo out go
                exec 3<>out
                "$NOTIFYCTL" work 'jobs.>' --durable w --prefix -- \
                    sh -c 'yes | head -c 60000; echo started >go' >out 3<&- &
                read line <go
                echo $line $!
                wait $!
                echo end $?
                """)
            try daemon.waitForSubscriptions(1)
            try post(1)
            let line = try await process.waitForLines(1)[0]
            let pid = try #require(Int32(line.dropFirst("started ".count)))
            kill(pid, SIGTERM)
            kill(pid, SIGHUP)
            #expect(try await process.waitForLines(2).last == "end 0")
        }

        @Test func `a stalled standard error blocks neither other commands nor the end of 'work'`() async throws {
            // The pipe has no room for a report.
            let process = try shell(
                """
                cd "$FOLDER"
                mkfifo err
                exec 3<>err
                head -c 65536 /dev/zero >&3
                exec "$NOTIFYCTL" work 'jobs.>' --durable w --parallel 2 -- \
                    sh -c 'read job; test $job != 0 || exit 3; echo $job' 2>&3
                """)
            try daemon.waitForSubscriptions(1)
            try post(4)
            #expect(try await process.waitForLines(3) == ["1", "2", "3"])
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: .seconds(60)) == .status(0))
        }

        @Test func `a signal ends 'work' although the reader of a command's errors has stalled`() async throws {
            let process = try shell(
                """
                cd "$FOLDER"
                mkfifo err
                exec 3<>err
                head -c 65536 /dev/zero >&3
                exec "$NOTIFYCTL" work 'jobs.>' --durable w -- sh -c 'echo lost >&2; echo written' 2>&3
                """)
            try daemon.waitForSubscriptions(1)
            try post(1)
            _ = try await process.waitForLines(1)
            process.send(SIGTERM)
            #expect(try await process.waitForExit(within: .seconds(60)) == .status(0))
        }

        @Test func `the lines that a stalled reader has missed are counted`() async throws {
            let process = try shell(
                """
                cd "$FOLDER"
                mkfifo err gate
                exec 3<>err
                head -c 65536 /dev/zero >&3
                "$NOTIFYCTL" work 'jobs.>' --durable w --max-deliveries 1000 --retry-after 10ms -- \
                    sh -c 'echo $NOTIFY_DELIVERY; exit 3' 2>&3 &
                read line <gate
                head -c 65536 <&3 >/dev/null
                head -n 2 <&3
                kill $!
                """)
            try daemon.waitForSubscriptions(1)
            try post(1)
            // The report on the first delivery precedes the second delivery.
            _ = try await process.waitForLines(2)
            try "go\n".write(toFile: folder.file("gate"), atomically: false, encoding: .utf8)
            #expect(try await process.waitForExit(within: .seconds(60)) == .status(0))
            let output = try await process.standardOutput.wait("the end of output") { $0.isAtEnd ? $0 : nil }
            let notices = output.lines.filter { $0.hasPrefix("notifyctl: ") }
            #expect(notices.count == 2)
            #expect(notices.first?.hasSuffix(" not printed, because standard error was not read") == true)
            #expect(notices.last?.contains(" has failed: exit status 3 (delivery ") == true)
        }

        @Test func `more commands than the soft limit of descriptors permits run at the same time`() async throws {
            let process = try shell(
                """
                ulimit -Sn 200
                exec "$NOTIFYCTL" work 'jobs.>' --durable w --parallel 150 -- sh -c 'echo started; exec sleep 1000'
                """)
            try daemon.waitForSubscriptions(1)
            try post(150)
            #expect(try await process.waitForLines(150).count == 150)
            process.send(SIGTERM)
            process.send(SIGHUP)
            #expect(try await process.waitForExit() == .status(0))
        }

        @Test func `more commands than the hard limit of descriptors permits are refused`() async throws {
            let process = try shell(
                "ulimit -n 200; exec \"$NOTIFYCTL\" work 'jobs.>' --durable w --parallel 150 -- cat")
            #expect(try await process.waitForExit() == .status(64))
            let errors = try await process.standardError.wait("end of errors") { $0.isAtEnd ? $0 : nil }
            expectText(errors.text, "--parallel 150 needs 878 file descriptors, and the hard limit is 200")
        }
    }
}

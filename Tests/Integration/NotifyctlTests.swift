import WireTestSupport
import Foundation
import NotifyWire
import Testing
import TestSupport

extension IntegrationTests {
    /// `notifyctl` itself, and the commands that have no suite of their own.
    @Suite struct NotifyctlTests {
        @Test func `'ping' prints one line`() async throws {
            let daemon = try await Daemon.start()
            let result = try await Notifyctl(daemon).run("ping")
            #expect(result.status == .status(0))
            #expect(result.lines.count == 1)
        }

        @Test func `'stats' prints the counters`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 1)
            try client.subscribe("a", as: 2, durable: "mine")
            for _ in 0..<3 { try client.post("a", "x") }
            let json = try await Notifyctl(daemon).run("stats", "--json")
            let object = try #require(try json.objects.first)
            let names = [
                "uptime_seconds", "connections", "subscriptions", "durable_subscriptions", "servers", "messages_in",
                "requests", "open_requests", "announcements", "unstored_wills", "delivered", "stored", "commits",
                "syncs", "pages_read", "redelivered",
                "dropped",
                "dropped_by_clients", "gaps", "forbidden", "dead_letters", "deleted_messages", "damaged_messages",
                "first_damaged_sequence", "last_damaged_sequence", "storage_works", "log_messages", "log_bytes",
                "wal_bytes", "memory_bytes", "memory_limit_bytes", "socket_bytes", "version",
            ]
            #expect(Set(object.keys) == Set(names))
            #expect(object["connections"] as? Int == 2)
            #expect(object["subscriptions"] as? Int == 2)
            #expect(object["durable_subscriptions"] as? Int == 1)
            #expect(object["messages_in"] as? Int == 3)
            #expect(object["delivered"] as? Int == 6)
            #expect(object["stored"] as? Int == 3)
            #expect(object["log_messages"] as? Int == 3)
            #expect(object["version"] as? String == notifydVersion)
            let text = try await Notifyctl(daemon).run("stats")
            #expect(text.lines.map { $0.prefix { $0 != " " } } == names.map { $0[...] })
        }

        @Test(arguments: [[], ["--limits"]])
        func `'stats' prints valid OpenMetrics`(options: [String]) async throws {
            let daemon = try await Daemon.start()
            try RawClient(daemon).post("a", "x")
            let process = try Notifyctl(daemon).start(["stats", "--format", "openmetrics"] + options)
            #expect(try await process.waitForExit() == .status(0))
            let text = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            let families = try OpenMetricsParser.parse(text)
            // Every figure of this daemon has a type and a description.
            for family in families { #expect(family.type != "unknown" && family.help != nil, "\(family.name)") }
            if options.isEmpty {
                #expect(families.count == Statistic.allCases.count + 1)
                #expect(families.first?.samples.first?.labels == ["version": notifydVersion])
                let posted = try #require(families.first { $0.name == "notifyd_messages_in" })
                #expect((posted.type, posted.samples.first?.name) == ("counter", "notifyd_messages_in_total"))
                #expect(posted.samples.first?.value == 1)
                #expect(families.first { $0.name == "notifyd_log_bytes" }?.unit == "bytes")
            } else {
                #expect(families.map(\.name) == ["notifyd_resource_used", "notifyd_resource_limit"])
                let labels = ["resource": "connections", "uid": "\(getuid())"]
                #expect(families[0].samples.first { $0.labels == labels }?.value == 1)
            }
        }

        @Test(.enabled(if: Requirements.hasPrometheusClient), arguments: ["", "--limits"])
        func `the parser of Prometheus reads the OpenMetrics`(options: String) async throws {
            let daemon = try await Daemon.start()
            let result = try await Notifyctl(daemon).shell(
                """
                notifyctl stats --format openmetrics \(options) | \(Requirements.systemPython) -c '
                import sys
                from prometheus_client.openmetrics import parser
                print(len(list(parser.text_string_to_metric_families(sys.stdin.read()))))'
                """)
            #expect(result.status == .status(0), "\(result.errors)")
            #expect(result.output == (options.isEmpty ? "\(Statistic.allCases.count + 1)\n" : "2\n"))
        }

        @Test func `'stats' prints the use of each limit`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_MEMORY_BYTES": "64MiB"])
            let client = try RawClient(daemon)
            try client.subscribe("a")
            let text = try await Notifyctl(daemon).run("stats", "--limits")
            #expect(text.status == .status(0))
            #expect(text.lines.contains { $0.hasPrefix("memory_bytes ") && $0.hasSuffix(" of 67108864") })
            #expect(text.lines.contains("user.\(getuid()).subscriptions 1 of 100000"))
            let json = try await Notifyctl(daemon).run("stats", "--limits", "--json")
            let object = try #require(try json.objects.first)
            #expect(object["memory_bytes.limit"] as? Int == 64 << 20)
            #expect(object["user.\(getuid()).connections"] as? Int == 2)
        }

        @Test(arguments: [
            "ping", "stats", "stats --json", "durable list", "clients", "subscriptions", "top", "names", "monitor",
        ])
        func `a command with a closed standard output fails immediately`(command: String) async throws {
            let daemon = try await Daemon.start()
            let result = try await Notifyctl(daemon).shell("notifyctl \(command) >&-")
            #expect(result.status == .status(1))
            #expect(result.errors == "notifyctl: can't write to standard output: it is closed\n")
        }

        @Test func `durable subscriptions are listed and removed`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a.>", "b", as: 1, durable: "held", object: "o")
            try client.subscribe("c", as: 2, durable: "free")
            try client.detach(2)
            let notifyctl = Notifyctl(daemon)
            let objects = try await notifyctl.run("durable", "list", "--json").objects
            #expect(Set(objects.compactMap { $0["durable"] as? String }) == ["held", "free"])
            let held = try #require(objects.first { $0["durable"] as? String == "held" })
            #expect(held["patterns"] as? [String] == ["a.>", "b"])
            #expect(held["object"] as? String == "o")
            #expect(try await notifyctl.run("durable", "list").lines.count == 3, "a heading and two subscriptions")

            let refused = try await notifyctl.run("durable", "remove", "held")
            #expect(refused.status == .status(1))
            #expect(refused.errors.contains("\(getpid())"))
            #expect(try await notifyctl.run("durable", "remove", "free").status == .status(0))
            #expect(try await notifyctl.run("durable", "remove", "free").status == .status(1))
            #expect(try client.list().map(\.durableName) == ["held"])
        }

        @Test func `the exit status without a daemon is 69`() async throws {
            let folder = try TemporaryFolder()
            let notifyctl = Notifyctl(socket: folder.file("nobody"))
            let commands = [
                ["ping"], ["stats"], ["durable", "list"], ["durable", "remove", "x"],
                ["durable", "create", "x", "a"], ["post", "a", "b"],
                ["subscribe", "a", "--durable", "d", "--timeout", "0"],
                ["wait", "a", "--timeout", "0"],
                ["subscribe", "a"], ["post", "a", "--lines"], ["bench", "post"], ["bench", "durable"],
            ]
            for arguments in commands {
                let process = try notifyctl.start(arguments, input: .text("line\n"))
                #expect(try await process.waitForExit() == .status(69), "\(arguments)")
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.text.contains(folder.file("nobody")), "\(arguments): \(errors)")
            }
        }

        @Test func `the exit status of wrong usage is 64, also without a daemon`() async throws {
            let folder = try TemporaryFolder()
            let notifyctl = Notifyctl(socket: folder.file("nobody"))
            let commands = [
                ["durable", "create", "a b", "a"], ["durable", "create", "d", "a..b"],
                ["durable", "remove", "a b"], ["durable", "remove", "d", "--user", "4294967295"],
                ["wait", "a..b", "--timeout", "0"],
                ["subscribe", "a..b"], ["subscribe", "a", "--durable", "a b"], ["post", "a..b", "x"],
            ]
            for arguments in commands {
                let process = try notifyctl.start(arguments)
                #expect(try await process.waitForExit() == .status(64), "\(arguments)")
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.lines.count == 1, "\(arguments): \(errors)")
            }
        }

        @Test func `the exit status of invalid data is 65, and of an unreadable file 66`() async throws {
            let daemon = try await Daemon.start()
            let notifyctl = Notifyctl(daemon)
            let long = try await notifyctl.run(
                "durable", "create", "d", "a", "--object", String(repeating: "o", count: 256))
            #expect(long.status == .status(65) && long.errors.contains("256 bytes"))
            let missing = try await notifyctl.run("post", "a", "--file", "/nowhere/file")
            #expect(missing.status == .status(66) && missing.errors.contains("can't open /nowhere/file"))
            let folder = try await notifyctl.run("post", "a", "--file", "/")
            #expect(folder.status == .status(66) && folder.errors.contains("can't open /: Is a directory"))
        }

        @Test func `the socket is found in the documented order`() async throws {
            let daemon = try await Daemon.start()
            let folder = try TemporaryFolder()
            let nobody = folder.file("nobody")
            let option = try await Notifyctl(socket: nobody).run("ping", "--socket", daemon.socket)
            #expect(option.status == .status(0))
            let before = try await Notifyctl(socket: nobody).run("--socket", daemon.socket, "ping")
            #expect(before.status == .status(0))
            let variable = try await Notifyctl(socket: daemon.socket, environment: ["XDG_RUNTIME_DIR": nobody])
                .run("ping")
            #expect(variable.status == .status(0))

            // Without `--socket` and `NOTIFYD_SOCKET`, notifyctl uses an existing socket in the user's runtime folder.
            mkdir(folder.file("notifyd"), 0o700)
            symlink(daemon.folder.path, folder.file("link"))
            let own = try NotifydRun(
                ["--socket", folder.file("notifyd/notifyd.sock"), "--database", folder.file("n.db")],
                managerPath: folder.file("manager"))
            try await own.ready()
            let users = try await Notifyctl(socket: nil, environment: ["XDG_RUNTIME_DIR": folder.path]).run("ping")
            #expect(users.status == .status(0))
            try await own.stop()

            let long = try await Notifyctl(socket: "/tmp/" + String(repeating: "x", count: 103)).run("ping")
            #expect(long.status == .status(64))
            #expect(long.errors.contains("107"))
        }

        @Test(.enabled(if: Requirements.isRoot))
        func `a folder of another user is skipped with one line`() async throws {
            let folder = try TemporaryFolder()
            mkdir(folder.file("notifyd"), 0o700)
            #expect(chown(folder.file("notifyd"), 54_321, 54_321) == 0)
            let result = try await Notifyctl(
                socket: nil, environment: ["XDG_RUNTIME_DIR": folder.path]
            ).run("ping")
            let lines = result.errors.split(separator: "\n").filter { $0.contains(folder.path) }
            #expect(lines.count == 1, "\(result.errors)")
            expectText("\(lines.first ?? "")", "\(folder.file("notifyd"))")
        }

        @Test func `the help has examples, and the completion scripts complete subcommands and values`() async throws {
            let notifyctl = Notifyctl(socket: nil)
            let commands = [
                [], ["post"], ["subscribe"], ["durable"], ["durable", "list"], ["durable", "create"],
                ["durable", "remove"], ["ping"],
                ["stats"], ["bench"], ["bench", "post"], ["bench", "subscribe"], ["bench", "roundtrip"],
                ["bench", "durable"], ["doctor"],
            ]
            for command in commands {
                let process = try notifyctl.start(command + ["--help"])
                #expect(try await process.waitForExit() == .status(0))
                let text = try await process.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
                #expect(text.contains("EXAMPLES") && text.contains("  notifyctl "), "\(command)")
            }
            let texts = [
                "post": ["automatic"],
                "work": [
                    "KillMode=mixed", "ExecStart=", "75", "USAGE: notifyctl work", "-- <command>",
                ],
            ]
            for (command, parts) in texts {
                let help = try await notifyctl.run("help", command).output
                for part in parts { expectText(help, part) }
            }
            let version = try await notifyctl.run("--version")
            #expect(version.output == "\(notifydVersion)\n")
            for shell in ["bash", "zsh", "fish"] {
                let script = try await notifyctl.run("--generate-completion-script", shell)
                #expect(script.status == .status(0))
                #expect(script.output.contains("subscribe"))
            }
            let folder = try TemporaryFolder()
            let bash = try await notifyctl.run("--generate-completion-script", "bash").output
            let bashFile = try folder.write(bash, to: "completion")
            let completions = [
                ("help du", "durable"), ("help durable re", "reset remove"), ("help post re", ""),
                ("post a --durability vol", "volatile"), ("top --view sub", "subscriptions"),
            ]
            for (words, found) in completions {
                let completed = try ChildProcess(
                    "/bin/bash",
                    [
                        "-c",
                        """
                        complete() { :; }; source "$1"
                        COMP_WORDS=(notifyctl $2) COMP_LINE="notifyctl $2"
                        COMP_CWORD=$((${#COMP_WORDS[@]} - 1)) COMP_POINT=${#COMP_LINE}
                        _notifyctl notifyctl "${COMP_WORDS[-1]}" "${COMP_WORDS[-2]}"; echo "${COMPREPLY[@]}"
                        """, "bash", bashFile, words,
                    ])
                #expect(try await completed.waitForLines(1).first.map(String.init) == found)
            }
            for (shell, parts) in [
                ("zsh", ["'1:command:(post subscribe ", "dead) compadd \"$expl[@]\" - "]),
                (
                    "fish",
                    [
                        "\"notifyctl help\" -eq 1' -fka 'post ",
                        "; and test (__notifyctl_tokens -pc)[-1] = dead' -fka 'list ",
                    ]
                ),
            ] {
                let script = try await notifyctl.run("--generate-completion-script", shell).output
                for part in parts { expectText(script, part) }
                #expect(!script.contains("'complete -c"), "each completion is on a line of its own")
            }
            let option = try await notifyctl.run("policy", "test", "--group", "staff", "post", "a")
            #expect(option.status == .status(64))
            #expect(option.errors == "notifyctl: Unknown option '--group' (see 'notifyctl policy test --help')\n")
            let wrong = try await notifyctl.run("bogus")
            #expect(wrong.status == .status(64))
            #expect(wrong.errors.split(separator: "\n").count == 1)
        }
    }
}

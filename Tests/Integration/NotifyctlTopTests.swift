import Foundation
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl top`, in a terminal and without one.
    @Suite struct NotifyctlTopTests {
        /// The numbers of the clients in the table; nil if there is no table of clients.
        private static func clients(_ screen: TmuxTerminal.Screen) -> [Substring]? {
            screen.table("CLIENT")?.compactMap(\.first)
        }

        private static func waitForClients(_ wanted: [Substring], in terminal: TmuxTerminal) async throws {
            try await terminal.wait("the clients \(wanted)") { clients($0) == wanted ? true : nil }
        }

        /// Sorts by the first column, so that the order of the rows is known.
        private static func sortByClient(_ terminal: TmuxTerminal) async throws {
            try await terminal.type("<<<<<<")
            try await terminal.waitForText("by CLIENT ascending")
        }

        /// Waits until the screen of the shell is shown. Expects that the last command exited with 0, and that the
        /// terminal has the mode that `top` must restore.
        private static func expectShell(_ terminal: TmuxTerminal) async throws {
            try await terminal.wait("the screen of the shell") { screen in
                screen.text.contains("notifyctl top") && !screen.text.contains("scending") ? true : nil
            }
            let tag = UInt32.random(in: 0 ... .max)
            try await terminal.type("echo status=$? $(stty -a | grep -o ' icanon') in${none}put\(tag)")
            try await terminal.press("Enter")
            try await terminal.waitForText("in${none}put\(tag)")
            try await terminal.waitForText("status=0 icanon input\(tag)")
        }

        private static func start(_ terminal: TmuxTerminal) async throws {
            try await terminal.type("notifyctl top")
            try await terminal.press("Enter")
            try await terminal.wait("the table") { clients($0)?.isEmpty == false ? true : nil }
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `keys sort, filter and switch the table, and q restores the terminal`() async throws {
            let daemon = try await Daemon.start()
            let first = try RawClient(daemon)
            try first.subscribe("a.>", as: 1)
            let second = try RawClient(daemon)
            try second.subscribe("b", as: 1, durable: "billing")
            try await TmuxTerminal.with(daemon) { terminal in
                try await Self.start(terminal)
                try await terminal.wait("the programs") { screen in
                    let own = screen.table("CLIENT")?.first { $0.contains("notifyctl") }
                    return own?.first == "3" && screen.text.contains("connections 3") ? true : nil
                }
                try await Self.sortByClient(terminal)
                try await Self.waitForClients(["1", "2", "3"], in: terminal)
                try await terminal.type("r")
                try await Self.waitForClients(["3", "2", "1"], in: terminal)

                try await terminal.type("/notifyctl")
                try await terminal.waitForText("filter: notifyctl_")
                try await terminal.press("Enter")
                try await Self.waitForClients(["3"], in: terminal)
                try await terminal.press("Escape")
                try await Self.waitForClients(["3", "2", "1"], in: terminal)

                try await terminal.press("Tab")
                try await terminal.wait("the subscriptions") { screen in
                    let rows = screen.table("KIND")
                    return rows?.compactMap(\.first) == ["durable", "volatile"] && rows?[1].last == "a.>" ? true : nil
                }
                try await terminal.type("h")
                try await terminal.waitForText("q: quit")
                try await terminal.type("q")
                try await Self.expectShell(terminal)
            }
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `the table fills a resized window, and scrolls in a small one`() async throws {
            let daemon = try await Daemon.start()
            let clients = try (0..<12).map { _ in try RawClient(daemon) }
            try await TmuxTerminal.with(daemon, columns: 130, rows: 8) { terminal in
                try await Self.start(terminal)
                try await Self.sortByClient(terminal)
                try await Self.waitForClients((1...5).map { "\($0)" }, in: terminal)
                try await terminal.press("PPage")
                try await terminal.press("NPage")
                try await Self.waitForClients((6...10).map { "\($0)" }, in: terminal)
                try await terminal.press("Up")
                try await Self.waitForClients((5...9).map { "\($0)" }, in: terminal)
                try await terminal.resize(columns: 40, rows: 30)
                try await terminal.wait("the whole table in the narrow window") { screen in
                    let isWrapped = !screen.lines.contains { $0.hasPrefix("notifyd ") && $0.contains("forbidden") }
                    let isCut = !screen.text.contains("WAITING")
                    return isWrapped && isCut && Self.clients(screen)?.count == 13 ? true : nil
                }
                try await terminal.resize(columns: 20, rows: 2)
                try await terminal.wait("the titles") { $0.text.contains("CLIENT") ? true : nil }
                try await terminal.resize(columns: 130, rows: 30)
                try await terminal.wait("the wide table") { screen in
                    screen.text.contains("WAITING") && Self.clients(screen)?.count == 13 ? true : nil
                }
                try await terminal.press("C-c")
                try await Self.expectShell(terminal)
            }
            withExtendedLifetime(clients) {}
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `the terminal is restored while the command is stopped, and at SIGTERM`() async throws {
            let daemon = try await Daemon.start()
            try await TmuxTerminal.with(daemon) { terminal in
                try await Self.start(terminal)
                try await terminal.press("C-z")
                try await terminal.waitForText("Stopped")
                try await terminal.type("true")
                try await terminal.press("Enter")
                try await Self.expectShell(terminal)
                try await terminal.type("fg")
                try await terminal.press("Enter")
                let pid = try await terminal.wait("the table") { screen in
                    screen.table("CLIENT")?.first.flatMap { $0.count > 3 ? pid_t($0[2]) : nil }
                }
                kill(pid, SIGTERM)
                try await Self.expectShell(terminal)
            }
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `a lost connection is shown until the client has reconnected`() async throws {
            let daemon = try await Daemon.start()
            try await TmuxTerminal.with(daemon) { terminal in
                try await Self.start(terminal)
                try await daemon.kill()
                try await terminal.waitForText("disconnected from notifyd: notifyd does not listen on")
                try await daemon.start()
                try await terminal.wait("the table") { screen in
                    !screen.text.contains("disconnected") && Self.clients(screen) == ["1"] ? true : nil
                }
                try await terminal.type("q")
                try await Self.expectShell(terminal)

                _ = try await daemon.stop()
                try await terminal.type("clear; notifyctl top || echo status=$?")
                try await terminal.press("Enter")
                try await terminal.waitForText("status=69")
                try await terminal.waitForText("notifyctl: notifyd does not listen on")
            }
        }

        @Test func `without a terminal, each report is printed as lines`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a", as: 1, durable: "billing")
            let result = try await Notifyctl(daemon).run(
                "top", "--count", "2", "--interval", "100ms", "--view", "subscriptions")
            #expect(result.status == .status(0) && result.errors == "")
            let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
            try #require(lines.count == 8)
            for start in [0, 4] {
                #expect(lines[start].hasPrefix("notifyd ") && lines[start].contains("  connections 2  "))
                #expect(lines[start + 1].hasPrefix("KIND     DURABLE  "))
                #expect(lines[start + 2].hasPrefix("durable  billing  "))
                #expect(lines[start + 3] == "")
            }
            #expect(!result.output.contains("\u{1B}"))
        }

        @Test func `the first printed report has rates`() async throws {
            let daemon = try await Daemon.start()
            let result = try await Notifyctl(daemon).run("top", "--count", "1", "--interval", "100ms")
            #expect(result.status == .status(0))
            expectText(result.output, "  in 0/s  ")
            #expect(!result.output.contains("-/s"))
        }

        @Test func `reports with rates are printed until a signal`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["top", "--plain", "--interval", "100ms"])
            _ = try await process.waitForLines(1)
            let client = try RawClient(daemon)
            for _ in 0..<100 { try client.post("a", "x") }
            _ = try await process.standardOutput.wait("a rate") { $0.text.contains(/in [1-9]/) ? true : nil }
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0))
            #expect(process.standardError.current.bytes.isEmpty)
        }

        @Test func `names are counted from the first report on`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            try client.subscribe("a.*", as: 1)
            let process = try Notifyctl(daemon).start(["top", "--plain", "--view", "names", "--interval", "100ms"])
            let lines = try await process.waitForLines(2)
            #expect(lines[1].hasPrefix("NAME  "))
            // Many bytes, so that their rate is above 0 even over a long interval.
            try client.post("a.b", String(repeating: "x", count: 10_000))
            _ = try await process.standardOutput.wait("the name") { output in
                output.lines.contains { line in
                    let words = line.split(separator: " ")
                    return words.first == "a.b" && words.suffix(2) == ["1", "0"] && words[2] != "0" && words[2] != "-"
                } ? true : nil
            }
            process.send(SIGTERM)
            #expect(try await process.waitForExit() == .status(0))
        }

        @Test func `reports are printed again after the daemon has restarted`() async throws {
            let daemon = try await Daemon.start()
            let process = try Notifyctl(daemon).start(["top", "--interval", "100ms"])
            _ = try await process.waitForLines(1)
            try await daemon.kill()
            _ = try await process.standardError.wait("the disconnection") { $0.lineCount > 0 ? true : nil }
            let printed = process.standardOutput.current.lineCount
            try await daemon.start()
            _ = try await process.waitForLines(printed + 8)
            #expect(process.standardError.current.lines.count == 2)
            process.send(SIGINT)
            #expect(try await process.waitForExit() == .status(0))
        }
    }
}

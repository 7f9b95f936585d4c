import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl post`.
    @Suite struct NotifyctlPostTests {
        private let daemon: Daemon
        private let reader: RawClient
        private let notifyctl: Notifyctl

        init() async throws {
            daemon = try await Daemon.start(environment: ["NOTIFYD_LIMITS_PAYLOAD_BYTES": "1000"])
            reader = try RawClient(daemon)
            try reader.subscribe("a.>", durable: "reader", window: 16_384)
            notifyctl = Notifyctl(daemon)
        }

        @Test func `'post' prints the receipt`() async throws {
            let result = try await notifyctl.run("post", "a.b", "hello")
            #expect(result.status == .status(0))
            let message = try reader.message()
            #expect(message.text == "hello" && message.name == "a.b")
            #expect(
                result.output == "posted a.b sequence=\(message.sequence) durability=stored subscribers=0 durables=1\n")
            #expect(result.errors == "")

            try reader.subscribe("b", as: 2)
            let second = try await notifyctl.run("post", "b")
            let reached = "durability=volatile subscribers=1 durables=0"
            #expect(second.output == "posted b sequence=\(try reader.message().sequence) \(reached)\n")

            let alone = try await notifyctl.run("post", "c", "--durability", "stored")
            #expect(alone.output.hasSuffix(" durability=stored subscribers=0 durables=0\n"))
            #expect(alone.errors == "")
        }

        @Test func `'post' prints the receipt as JSON`() async throws {
            for (durability, reached) in [("automatic", "stored"), ("volatile", "volatile"), ("synced", "synced")] {
                let result = try await notifyctl.run("post", "a.b", "x", "--json", "--durability", durability)
                let object = try #require(try result.objects.first)
                #expect(Set(object.keys) == ["name", "sequence", "durability", "subscribers", "durables"])
                #expect(object["name"] as? String == "a.b")
                #expect(object["durability"] as? String == reached)
                #expect(object["durables"] as? Int == (durability == "volatile" ? 0 : 1))
                if durability != "volatile" {
                    #expect(try object["sequence"] as? UInt64 == reader.message().sequence)
                }
            }
            let quiet = try await notifyctl.run("post", "a.b", "-q")
            #expect(quiet.status == .status(0) && quiet.output == "")
        }

        @Test(.enabled(if: Requirements.hasTmux))
        func `on a terminal, a message that was neither received nor stored is reported`() async throws {
            try await TmuxTerminal.with(daemon, columns: 200) { terminal in
                try await terminal.type("notifyctl post b x")
                try await terminal.press("Enter")
                try await terminal.waitForText("no subscriber received the message, and it was not stored")
            }
        }

        @Test func `the payload is read from the argument, a file or standard input`() async throws {
            let file = daemon.folder.file("body")
            try "from a file\n".write(toFile: file, atomically: false, encoding: .utf8)
            let cases: [(arguments: [String], input: ChildProcess.Input, payload: String)] = [
                (["a.b", "argument"], .text("not read"), "argument"),
                (["a.b"], .text("all of\nstandard input"), "all of\nstandard input"),
                (["a.b"], .file(file), "from a file\n"),
                (["a.b"], .none, ""),
                (["a.b", ""], .text("not read"), ""),
                (["a.b", ""], .none, ""),
                (["a.b", "-"], .text("all of\nstandard input\n"), "all of\nstandard input\n"),
                (["a.b", "-"], .none, ""),
                (["a.b", "--file", file], .none, "from a file\n"),
                (["a.b", "-f", "/dev/null"], .none, ""),
            ]
            for (arguments, input, payload) in cases {
                let process = try notifyctl.start(["post"] + arguments, input: input)
                #expect(try await process.waitForExit() == .status(0), "\(arguments)")
                #expect(try reader.message().text == payload, "\(arguments)")
            }
        }

        @Test func `a closed standard input is an empty payload`() async throws {
            let closed = try await notifyctl.shell("notifyctl post a.b <&-")
            #expect(closed.status == .status(0), "\(closed.errors)")
            #expect(try reader.message().text == "")
            let piped = try await notifyctl.shell("printf 'a\\nb' | notifyctl post a.b")
            #expect(piped.status == .status(0), "\(piped.errors)")
            #expect(try reader.message().text == "a\nb")
        }

        @Test func `a command with a closed standard output fails before anything is posted`() async throws {
            for command in ["post a.b x", "post a.b --lines", "durable create new a", "subscribe a --durable new"] {
                let result = try await notifyctl.shell("echo x | notifyctl \(command) >&-")
                #expect(result.status == .status(1), "\(command)")
                #expect(result.errors == "notifyctl: can't write to standard output: it is closed\n", "\(command)")
            }
            let readOnly = try await notifyctl.shell("notifyctl ping 1</dev/null")
            #expect(readOnly.status == .status(1))
            #expect(readOnly.errors == "notifyctl: can't write to standard output: it is open only for reading\n")
            #expect(try reader.list().map(\.durableName) == ["reader"])
            // `--quiet` prints nothing, so a closed output is no error.
            let quiet = try await notifyctl.shell("notifyctl post a.b y --quiet >&-")
            #expect(quiet.status == .status(0), "\(quiet.errors)")
            #expect(try reader.message().text == "y")
        }

        @Test func `a payload argument may have any bytes`() async throws {
            let bytes: [UInt8] = [0xFF, 0x61, 0xC3, 0x28, 0xE2, 0x82]
            for options in ["", "--", "--object o --"] {
                let result = try await notifyctl.shell(
                    #"notifyctl post a.b \#(options) "$(printf '\377a\303(\342\202')""#)
                #expect(result.status == .status(0), "\(result.errors)")
                #expect(try reader.message().payload == bytes)
            }
        }

        @Test(arguments: [
            #"post "a.b$x" c"#, #"post "$x" "$x""#, #"post a.b c --object "$x""#, #"post a.b c "--object=$x""#,
            #"post a.b c -H "k: $x""#, #"post a.b --file "$x""#, #"post a.b c "$x""#, #"post a.b "-$x""#,
            #"subscribe "$x""#, #"subscribe a --format "$x""#, #"durable remove "$x""#, #"ping "$x""#, #""$x""#,
            #"ping --socket "$x""#,
        ])
        func `arguments other than the payload must be UTF-8`(command: String) async throws {
            let result = try await notifyctl.shell(#"x=$(printf 'a\377'); notifyctl \#(command)"#)
            #expect(result.status == .status(65), "\(result)")
            #expect(result.errors.split(separator: "\n").count == 1)
            expectText(result.errors, "is not UTF-8")
            try reader.ping()
            #expect(reader.isQuiet)
        }

        @Test func `'post' sends the object and headers`() async throws {
            let result = try await notifyctl.run(
                "post", "a.b", "x", "--object", "o 1", "-H", "one:1", "--header", " two : 2:3", "-H", "empty: ")
            #expect(result.status == .status(0))
            let message = try reader.message()
            #expect(message.object == "o 1")
            let headers = try message.headers.withUnsafeBytes { try HeaderList.decode($0) }
            #expect(headers.map(\.key) == ["one", "two", "empty"])
            #expect(headers.map(\.value) == ["1", "2:3", ""])
        }

        // MARK: Lines

        @Test func `'post' sends each line as a message`() async throws {
            let result = try await notifyctl.run("post", "a.b", "--lines", input: .text("one\n\ncarriage\r\n end "))
            #expect(result.status == .status(0))
            let messages = try (0..<4).map { _ in try reader.message() }
            #expect(messages.map(\.text) == ["one", "", "carriage\r", " end "])
            #expect(
                result.lines
                    == messages.map { "posted a.b sequence=\($0.sequence) durability=stored subscribers=0 durables=1" })
            try reader.ping()
            #expect(reader.isQuiet)
        }

        @Test func `'post' sends the lines of a file`() async throws {
            let file = daemon.folder.file("lines")
            try "1\n2\n".write(toFile: file, atomically: false, encoding: .utf8)
            let result = try await notifyctl.run("post", "a.b", "-l", "-f", file, "--json")
            #expect(try result.objects.map { $0["name"] as? String } == ["a.b", "a.b"])
            let none = try await notifyctl.run("post", "a.b", "--lines", input: .text(""))
            #expect(none.status == .status(0) && none.output == "")
        }

        @Test func `a refused line is reported and the others are posted`() async throws {
            let long = String(repeating: "x", count: 1001)
            let result = try await notifyctl.run("post", "a.b", "--lines", input: .text("1\n\(long)\n3\n\(long)\n5\n"))
            #expect(result.status == .status(65))
            #expect(try (0..<3).map { _ in try reader.message().text } == ["1", "3", "5"])
            #expect(result.lines.count == 3)
            let errors = result.errors.split(separator: "\n")
            try #require(errors.count == 3)
            #expect(errors[0].contains("line 2") && errors[1].contains("line 4"))
            #expect(errors[2] == "notifyctl: posted 3 lines (3 stored), 2 invalid")
        }

        @Test func `'post --lines' ends after the daemon has ended, even if the input does not end`() async throws {
            let process = try notifyctl.impatient.start(["post", "a.b", "--lines"], input: .pipe)
            try process.write("1\n")
            #expect(try await process.waitForLines(1).count == 1)
            try await daemon.kill()
            // The next line must be sent after notifyctl has detected the lost connection. An earlier line would fail
            // with an unknown outcome, and notifyctl would continue.
            _ = try await process.standardError.wait("the disconnection") {
                $0.text.contains("disconnected from notifyd") ? $0 : nil
            }
            try process.write("2\n")
            // notifyctl ends after the connection timeout, without waiting for more input.
            #expect(try await process.waitForExit() == .status(69))
        }

        @Test func `many lines share commits`() async throws {
            let count = 20_000
            let before = try reader.statistics()
            let text = (0..<count).map { "\($0)\n" }.joined()
            let result = try await notifyctl.run("post", "b", "--lines", "--durability", "stored", input: .text(text))
            #expect(result.status == .status(0))
            #expect(result.lines.count == count)
            let sequences = result.lines.compactMap { UInt64($0.split(separator: " ")[2].dropFirst("sequence=".count)) }
            #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
            let after = try reader.statistics()
            #expect(after["stored", default: 0] - before["stored", default: 0] == UInt64(count))
            #expect(after["commits", default: 0] - before["commits", default: 0] < 1000)
        }

        // MARK: Errors

        private static let refused: [(arguments: [String], status: Int32)] = [
            ([], 64), (["a.b", "body", "--file", "/dev/null"], 64), (["a.b", "body", "--lines"], 64),
            (["a.b", "one", "two"], 64), (["a.b", "--durability", "eternal"], 64), (["a.b", "-H", "no colon"], 64),
            (["a..b"], 64), (["a.*"], 64), (["--bogus"], 64), (["notifyd.x"], 77),
            (["a.b", String(repeating: "x", count: 1001)], 65), (["a.b", "--file", "/nowhere/body"], 66),
        ]

        @Test func `each error has its exit status and one line`() async throws {
            for (arguments, status) in Self.refused {
                let process = try notifyctl.start(["post"] + arguments)
                #expect(try await process.waitForExit() == .status(status), "\(arguments)")
                let errors = try await process.standardError.wait("the end of errors") { $0.isAtEnd ? $0 : nil }
                #expect(errors.lines.count == 1, "\(arguments): \(errors)")
                #expect(process.standardOutput.current.bytes.isEmpty)
            }
        }
    }
}

import Foundation
import Glibc
import NotifyClient
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl post --retain`, `get`, `clear` and `subscribe --retained`, and values of the client library.
    @Suite struct NotifyctlValueTests: CommandSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        @Test func `a value with a receipt survives a kill of the daemon`() async throws {
            for index in 1...20 {
                #expect(try await notifyctl.run("post", "a.b", "\(index)", "--retain", "-q").status == .status(0))
            }
            try await daemon.kill()
            try await daemon.start()
            let value = try await notifyctl.run("get", "a.b", "--json").objects[0]
            #expect(value["payload"] as? String == "20")
        }

        @Test func `a payload of any bytes is printed unchanged with --raw`() async throws {
            let bytes: [UInt8] = [0, 255, 10, 13, 7]
            try Data(bytes).write(to: URL(filePath: daemon.folder.file("payload")))
            _ = try await notifyctl.run("post", "a.b", "--file", daemon.folder.file("payload"), "--retain")
            let result = try await notifyctl.shell("notifyctl get a.b --raw | od -An -tu1 | tr -s ' '")
            #expect(result.output == " 0 255 10 13 7\n")
        }

        @Test func `several values are a table, and none is status 1`() async throws {
            _ = try await notifyctl.run("post", "a.b", "one\ntwo", "--retain")
            _ = try await notifyctl.run("post", "a.c", "three", "--retain", "--object", "o")
            let table = try await notifyctl.run("get", "a.*").lines
            #expect(table[0].hasPrefix("NAME  OBJECT") && table.count == 3)
            #expect(table[1].hasPrefix("a.b   -") && table[2].hasPrefix("a.c   o"))
            let none = try await notifyctl.run("get", "b")
            #expect(none.status == .status(1) && none.errors == "notifyctl: there is no value\n")
            #expect(try await notifyctl.run("get", "a.c", "--object", "").status == .status(1))
        }

        @Test func `several values of one name are a table with their objects, and one is its payload`() async throws {
            _ = try await notifyctl.run("post", "a.b", "1", "--retain", "--object", "db1")
            #expect(try await notifyctl.run("get", "a.b").output == "1\n")
            let wide = try await notifyctl.run("get", "a.b", "--wide").lines
            #expect(wide.count == 2 && wide[1].hasPrefix("a.b   db1"))
            _ = try await notifyctl.run("post", "a.b", "2", "--retain", "--object", "db2")
            let table = try await notifyctl.run("get", "a.b").lines
            #expect(table.count == 3 && table[0].hasPrefix("NAME  OBJECT"))
            #expect(table.dropFirst().map { $0.prefix(9) } == ["a.b   db1", "a.b   db2"])
            #expect(try await notifyctl.run("get", "a.b", "--object", "db2").output == "2\n")
            #expect(try await notifyctl.run("get", "a.b", "--verbose").output == "a.b 1\na.b 2\n")
        }

        @Test func `all values together take at most a quarter of the log, also after a reload`() async throws {
            let folder = try TemporaryFolder()
            func configure(_ size: String) throws -> String {
                try folder.write("log: {max_bytes: \(size), checkpoint_bytes: 256KiB}", to: "n.yaml")
            }
            let daemon = try await Daemon.start(["--config", configure("4MiB")], folder: folder)
            let notifyctl = Notifyctl(daemon)
            func set(_ name: String) async throws -> Notifyctl.Result {
                try await notifyctl.shell("head -c 300000 /dev/zero | notifyctl post \(name) --retain")
            }
            func reload(_ size: String) async throws {
                _ = try configure(size)
                #expect(try await notifyctl.run("reload").status == .status(0))
            }
            for name in ["a", "b", "c"] { #expect(try await set(name).status == .status(0)) }
            let refused = try await set("d")
            #expect(refused.status == .status(75))
            expectText(
                refused.errors,
                "all values together take 900387 bytes, and the limit is 1048576, a quarter of log.max_bytes")
            try await reload("8MiB")
            #expect(try await set("d").status == .status(0))
            try await reload("4MiB")
            #expect(try await set("d").status == .status(0), "a value of the same size")
            expectText(try await set("e").errors, "take 1200516 bytes, and the limit is 1048576")
            let user = "user.\(getuid())"
            let uses = [
                "value_bytes 1200516 of 1048576", "\(user).values 4 of 100000",
                "\(user).value_bytes 1200516 of 268435456",
            ]
            let lines = try await notifyctl.run("stats", "--limits").lines.map(String.init)
            #expect(lines.filter(uses.contains) == uses)
        }

        @Test func `a change with a condition that is not met ends with status 1 and the sequence`() async throws {
            _ = try await notifyctl.run("post", "a.b", "1", "--retain", "--if-sequence", "0")
            let refused = try await notifyctl.run("post", "a.b", "2", "--retain", "--if-sequence", "0")
            #expect(refused.status == .status(1) && refused.errors.contains("the value has sequence 1"))
            let cleared = try await notifyctl.run("clear", "a.b", "--if-sequence", "7")
            #expect(cleared.status == .status(1) && cleared.errors.contains("the value has sequence 1"))
            #expect(try await notifyctl.run("clear", "a.b", "--if-sequence", "1").output == "cleared 1 value\n")
            let none = try await notifyctl.run("post", "a.b", "3", "--retain", "--if-sequence", "1")
            #expect(none.status == .status(1) && none.errors.contains("there is no value"))
        }

        @Test func `get waits for the first value`() async throws {
            let waiting = try notifyctl.start(["get", "a.b", "--wait"])
            let late = try await notifyctl.run("get", "a.c", "--wait", "--timeout", "10ms")
            #expect(late.status == .status(124))
            _ = try await notifyctl.run("post", "a.d", "there", "--retain")
            let present = try await notifyctl.run("get", "a.d", "--wait", "--timeout", "0")
            #expect(present.status == .status(0) && present.output == "there\n")
            let board = try await notifyctl.run("subscribe", "--retained", "a.d", "--timeout", "0")
            #expect(board.status == .status(124) && board.output == "a.d there\n")
            _ = try await notifyctl.run("post", "a.b", "here", "--retain")
            #expect(try await waiting.waitForExit() == .status(0))
            #expect(waiting.standardOutput.current.text == "here\n")
        }

        @Test func `a watch prints values, changes and clears, over a restart of the daemon`() async throws {
            _ = try await notifyctl.run("post", "a.b", "1", "--retain")
            let watch = try notifyctl.start(["subscribe", "--retained", "a.*", "--count", "4"])
            _ = try await watch.waitForLines(1)
            try await daemon.kill()
            try await daemon.start()
            _ = try await notifyctl.run("post", "a.b", "2", "--retain")
            _ = try await watch.waitForLines(2)
            _ = try await notifyctl.run("post", "a.c", "3", "--retain")
            _ = try await watch.waitForLines(3)
            _ = try await notifyctl.run("clear", "a.b")
            #expect(try await watch.waitForExit() == .status(0))
            #expect(watch.standardOutput.current.text == "a.b 1\na.b 2\na.c 3\na.b cleared\n")
        }

        @Test func `a watch reports on standard error that all values follow again`() async throws {
            let copy = daemon.folder.file("copy")
            _ = try await notifyctl.run("post", "a.b", "1", "--retain", "--object", "db1")
            #expect(try await notifyctl.run("backup", copy).status == .status(0))
            _ = try await notifyctl.run("post", "a.c", "2", "--retain")
            let watch = try notifyctl.start(["subscribe", "--retained", "a.*", "--count", "4"])
            let json = try notifyctl.start(["subscribe", "--retained", "a.*", "--count", "3", "--json"])
            _ = try await watch.waitForLines(2)
            _ = try await json.waitForLines(3)
            #expect(try await daemon.stop() == .status(0))
            let restore = try NotifydRun(
                ["--database", daemon.database, "--restore", copy], managerPath: daemon.folder.file("restore"))
            #expect(try await restore.process.waitForExit() == .status(0))
            try await daemon.start()
            _ = try await watch.waitForLines(3)
            #expect(try await json.waitForExit() == .status(0))
            _ = try await notifyctl.run("clear", "a.b", "--object", "db1")
            #expect(try await watch.waitForExit() == .status(0))
            #expect(watch.standardOutput.current.text == "a.b 1\na.c 2\na.b 1\na.b db1 cleared\n")
            let errors = try await watch.standardError.wait("the errors") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "all values follow again")
            let marks = try await json.standardError.wait("the errors") { $0.isAtEnd ? $0.text : nil }
            #expect(!marks.contains("all values follow again"))
            let objects = try await json.standardOutput.wait("the end") { $0.isAtEnd ? $0.text : nil }
            expectText(objects, #"{"reset":true}"#)
        }

        @Test func `wrong uses are explained`() async throws {
            for (arguments, text) in [
                (["post", "a", "", "--if-sequence", "1"], "--if-sequence needs --retain"),
                (["post", "a", "", "--retain", "--durability", "volatile"], "--retain stores the message"),
                (["subscribe", "--retained", "a", "--durable", "b"], "--retained can't be used with"),
                (["clear", "a.*", "--if-sequence", "1"], "one name without wildcards"),
                (["get", "a", "--timeout", "1s"], "--timeout needs --wait"),
                (["get", "a", "--wide", "--raw"], "--wide is for tables"),
            ] {
                let result = try await notifyctl.run(arguments)
                #expect(result.status == .status(64) && result.errors.contains(text), "\(arguments)")
            }
        }

        @Test func `the client library sets, reads, watches and clears values`() async throws {
            let configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            try await withNotificationClient(configuration: configuration) { client -> Void in
                let first = try await client.setValue("1", for: "a.b", ifSequence: 0)
                let error = await #expect(throws: NotifyError.self) {
                    try await client.setValue("2", for: "a.b", ifSequence: 0)
                }
                #expect(error?.code == .valueChanged && error?.detail == first.sequence)
                try await client.setValue([2], for: "a.b", object: "o", isSynced: true)
                #expect(try await client.value(of: "a.b")?.text == "1")
                #expect(try await client.value(of: "a.b", object: "o")?.payload == [2])
                #expect(try await client.value(of: "a.c") == nil)
                var names: [String] = []
                for try await value in try client.values(matching: ["a.*"]) { names.append(value.name) }
                #expect(names == ["a.b", "a.b"])
                var events = try client.watch(["a.>"], object: "").makeAsyncIterator()
                guard case .value(let present)? = try await events.next(),
                    case .upToDate(let position)? = try await events.next()
                else {
                    Issue.record("no value")
                    return
                }
                #expect(present.sequence == first.sequence)
                #expect(try await client.clear("a.b"))
                guard case .cleared(let cleared)? = try await events.next() else {
                    Issue.record("no clear")
                    return
                }
                #expect(cleared.clearedReason == "cleared" && cleared.uid == getuid())
                #expect(try await client.clear("a.b") == false)
                #expect(try await client.clear(matching: ["a.*"]) == 1)
                var later = try client.watch(["a.>"], object: "", from: position).makeAsyncIterator()
                guard case .cleared(let again)? = try await later.next() else {
                    Issue.record("no clear")
                    return
                }
                #expect(again.sequence == cleared.sequence)
            }
        }
    }
}

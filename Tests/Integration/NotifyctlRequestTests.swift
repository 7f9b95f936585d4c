import Foundation
import Glibc
import TestSupport
import Testing

extension IntegrationTests {
    /// `notifyctl serve` and `notifyctl request`, with real commands.
    @Suite struct NotifyctlRequestTests: CommandSuite {
        let setUp: CommandSetUp

        init() async throws { setUp = try await CommandSetUp() }

        private static let name = "user.\(getuid()).test"

        /// Starts a server with a shell script as its command, and returns once it is registered.
        private func serve(_ options: [String] = [], script: String) throws -> ChildProcess {
            let server = try notifyctl.start(["serve", Self.name] + options + ["--", "sh", "-c", script])
            try daemon.waitForServers(1)
            return server
        }

        private func waitForErrorLines(_ count: Int, of process: ChildProcess) async throws {
            _ = try await process.standardError.wait("\(count) lines of errors") { $0.lineCount >= count ? true : nil }
        }

        @Test func `the output of the command is the reply, byte for byte`() async throws {
            let server = try serve(
                script: "cat; printf '\\000\\377'; echo \"$NOTIFY_NAME $NOTIFY_UID $NOTIFY_HEADER_K\"")
            let json = try await notifyctl.run("request", Self.name, "in ", "-H", "k: v", "--json").objects[0]
            let reply = try #require((json["payload_base64"] as? String).flatMap { Data(base64Encoded: $0) })
            #expect(Array(reply) == Array("in ".utf8) + [0, 255] + Array("\(Self.name) \(getuid()) v\n".utf8))
            #expect(json["uid"] as? Int == Int(getuid()) && json["pid"] as? Int == Int(server.pid))
            let listed = try #require(try await notifyctl.run("subscriptions", "--json").objects.first)
            #expect(listed["kind"] as? String == "server" && listed["pid"] as? Int == Int(server.pid))
            #expect(listed["patterns"] as? [String] == [Self.name] && listed["durable"] is NSNull)
            #expect(listed["concurrency"] as? Int == 1 && listed["in_flight"] as? Int == 0)
            server.send(SIGTERM)
            #expect(try await server.waitForExit() == .status(0))
        }

        @Test func `the exit status of the command decides the outcome`() async throws {
            let server = try serve(
                ["--parallel", "3"],
                script: """
                    read status
                    echo oops >&2
                    exit "$status"
                    """)
            let failed = try await notifyctl.run("request", Self.name, "3")
            #expect(
                failed.status == .status(1) && failed.errors.contains("exit status 3") && failed.errors.contains("oops")
            )
            let returned = try await notifyctl.run("request", Self.name, "75")
            #expect(returned.status == .status(69), "no other server is left")
            server.send(SIGTERM)
            #expect(try await server.waitForExit() == .status(0))
        }

        @Test func `a request without a server ends with 69, and one whose server is killed with 75`() async throws {
            let none = try await notifyctl.run("request", Self.name)
            #expect(none.status == .status(69) && none.errors.contains("no server answers '\(Self.name)'"))
            let server = try serve(script: "kill -KILL $PPID; exec sleep 3600")
            let killed = try await notifyctl.run("request", Self.name)
            #expect(killed.status == .status(75))
            _ = try await server.waitForExit()
        }

        @Test func `a request whose daemon is killed ends with 75, because it may have been executed`() async throws {
            let server = try serve(script: "echo begun >&2; exec sleep 3600")
            let asker = try notifyctl.start(["request", Self.name, "--timeout", "1h"])
            try await waitForErrorLines(1, of: server)
            try await daemon.kill()
            #expect(try await asker.waitForExit() == .status(75))
            let errors = try await asker.standardError.wait("the errors") { $0.isAtEnd ? $0.text : nil }
            expectText(errors, "the request may have been executed")
            try await daemon.start()
            server.send(SIGTERM)
            #expect(try await server.waitForExit() == .status(0))
        }

        @Test func `after the time limit the command gets SIGTERM, and the request ends with 124`() async throws {
            let server = try serve(script: "trap 'echo stopped >&2; exit' TERM; echo begun >&2; sleep 3600 & wait")
            let result = try await notifyctl.run("request", Self.name, "--timeout", "300ms")
            #expect(result.status == .status(124))
            try await waitForErrorLines(2, of: server)
            server.send(SIGTERM)
            #expect(try await server.waitForExit() == .status(0))
        }

        @Test func `a server that is stopped finishes its commands, and their replies arrive`() async throws {
            let server = try serve(script: "echo begun >&2; read line; sleep 0.3; echo done")
            let asker = try notifyctl.start(["request", Self.name, "go"])
            try await waitForErrorLines(1, of: server)
            server.send(SIGTERM)
            #expect(try await asker.waitForLines(1) == ["done"])
            #expect(try await server.waitForExit() == .status(0))
        }

        @Test func `a command that can't be started ends the server with 127`() async throws {
            let missing = try await notifyctl.run("serve", Self.name, "--", "/nonexistent")
            #expect(missing.status == .status(127))
            let forbidden = try await notifyctl.run("serve", "notifyd.a", "--", "cat")
            #expect(forbidden.status == .status(77))
        }
    }
}

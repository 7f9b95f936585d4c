import Foundation
import NotifyWire
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The kernel identifies the poster, and some names are restricted to one user.
    @Suite struct CredentialsTests {
        @Test func `messages carry the uid, gid and pid of the process that connected`() async throws {
            let daemon = try await Daemon.start()
            let client = RawClient(try RawSocket(path: daemon.socket))
            let welcome = try client.greet()
            #expect((welcome.uid, welcome.gid, welcome.pid) == (geteuid(), getegid(), UInt32(getpid())))
            try client.subscribe("who")
            let before = UInt64(Date().timeIntervalSince1970 * 1_000_000)
            let receipt = try client.post("who")
            let stamp = try client.message().stamp
            #expect((stamp.uid, stamp.gid, stamp.pid) == (geteuid(), getegid(), UInt32(getpid())))
            #expect(stamp.sequence == receipt.sequence)
            #expect((before...before + 60_000_000).contains(stamp.timeMicroseconds))
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `messages of another user carry that user's uid`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0666"])
            chmod(daemon.folder.path, 0o755)
            let mine = try RawClient(daemon)
            try mine.subscribe("who")
            let theirs = try await OtherUser(54_321, group: 12_345).connect(to: daemon)
            let welcome = try theirs.client.greet()
            #expect((welcome.uid, welcome.gid, welcome.pid) == (54_321, 12_345, UInt32(theirs.pid)))
            try theirs.client.post("who", durability: .stored)
            let stamp = try mine.message().stamp
            #expect((stamp.uid, stamp.gid, stamp.pid) == (54_321, 12_345, UInt32(theirs.pid)))
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `only a user and root may use the names under the user's uid`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0666"])
            chmod(daemon.folder.path, 0o755)
            let root = try RawClient(daemon)
            let alice = try await OtherUser(1111).connect(to: daemon).client
            let bob = try await OtherUser(2222).connect(to: daemon).client
            for client in [alice, bob] { try client.greet() }

            try root.subscribe(">", as: 1)
            try alice.subscribe("user.1111.>", as: 1)
            try alice.subscribe(">", as: 2, durable: "everything")
            try bob.subscribe(">", as: 1)
            try bob.subscribe("*.1111.mail", as: 2, durable: "sly")

            // Root and Alice receive the message. Bob's wildcards match only names that Bob may receive.
            let receipt = try alice.post("user.1111.mail", "private")
            #expect((receipt.subscribers, receipt.stored) == (2, 1))
            try root.post("user.1111.mail", "from root")
            try root.post("public", "for all")
            #expect(try bob.message().text == "for all")
            #expect(try (0..<3).map { _ in try root.message().text } == ["private", "from root", "for all"])

            expectRefusal(.forbidden) { try bob.post("user.1111.mail") }
            expectRefusal(.forbidden) { try bob.subscribe("user.1111.>", as: 3) }
            expectRefusal(.forbidden) { try bob.subscribe("user.1111.*", as: 3, durable: "spy") }
            // These names contain no valid user id, so only root may post under them.
            for name in ["user.01111.mail", "user.root", "user.4294967296.a"] {
                expectRefusal(.forbidden) { try alice.post(name) }
            }
            try bob.post("user.2222.mail")
            try bob.post("users.1111.mail")
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `durable subscriptions belong to their user`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0666"])
            chmod(daemon.folder.path, 0o755)
            let root = try RawClient(daemon)
            let alice = try await OtherUser(1111).connect(to: daemon).client
            try alice.greet()
            try root.subscribe("a", durable: "inbox")
            // The durable names of different users are independent, so Alice creates a new subscription.
            #expect(try alice.subscribe("b", durable: "inbox").isResumed == false)
            #expect(try alice.list().map(\.uid) == [1111])
            #expect(try root.list().map(\.uid).sorted() == [geteuid(), 1111].sorted())
            expectRefusal(.forbidden) {
                let request = alice.newRequest()
                try alice.send(Remove(request: request, uid: 0, durableName: "inbox"))
                _ = try alice.receipt(of: request)
            }
        }

        @Test func `names of the daemon can't be posted`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            for name in ["notifyd.x", "notifyd", "notifyd.a.b"] {
                expectRefusal(.forbidden) { try client.post(name) }
            }
            try client.subscribe("notifyd.>")
            try client.post("notifydx.a")
        }

        @Test(.enabled(if: Requirements.canSwitchUser))
        func `a socket with mode 0600 rejects other users`() async throws {
            let daemon = try await Daemon.start(environment: ["NOTIFYD_SOCKET_MODE": "0600"])
            chmod(daemon.folder.path, 0o755)
            await #expect(throws: Errno.self) { try await OtherUser(54_321).connect(to: daemon) }
            try RawClient(daemon).ping()
        }
    }
}

/// Another user of the machine.
struct OtherUser {
    var uid: UInt32
    var group: UInt32

    init(_ uid: UInt32, group: UInt32? = nil) {
        self.uid = uid
        self.group = group ?? uid
    }

    /// Connects a socket of the test in a process of this user, so that the kernel reports this user as the peer.
    func connect(to daemon: Daemon) async throws -> (client: RawClient, pid: pid_t) {
        let descriptor = try RawSocket.unconnected()
        let script = "import socket, sys; socket.socket(fileno=0).connect(sys.argv[1])"
        let launcher = Requirements.asUser(uid, group: group)
        let process = try ChildProcess(
            launcher[0], Array(launcher.dropFirst()) + ["python3", "-c", script, daemon.socket],
            input: .descriptor(descriptor))
        guard try await process.waitForExit() == .status(0) else {
            close(descriptor)
            throw Errno.permissionDenied
        }
        return (RawClient(try RawSocket(adopting: descriptor)), process.pid)
    }
}

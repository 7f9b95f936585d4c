import NotifySystem
import SystemPackage
import Foundation
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct SocketActivationTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("n.sock") }

    init() throws {
        folder = try TemporaryFolder()
    }

    private func activated(count: String = "1", process: String = "4711") -> ProcessContext {
        context(["LISTEN_PID": process, "LISTEN_FDS": count, "LISTEN_FDNAMES": "notifyd.socket"])
    }

    @Test func `the listening socket is taken`() throws {
        let passed = try boundSocket(SOCK_STREAM, at: path, listening: true).release().rawValue
        // Like a socket passed by systemd, this socket is blocking and inheritable.
        #expect(fcntl(passed, F_SETFL, 0) == 0)
        #expect(fcntl(passed, F_SETFD, 0) == 0)
        guard let claimed = try SocketActivation.claim(for: activated(), firstDescriptor: passed) else {
            Issue.record("the socket was not taken")
            return
        }
        let descriptor = claimed.rawValue
        #expect(descriptor == passed)
        #expect(fcntl(passed, F_GETFL) & O_NONBLOCK != 0)
        #expect(fcntl(passed, F_GETFD) & FD_CLOEXEC != 0)
        #expect(UnixSocketAddress.boundPath(of: claimed.descriptor) == path)
    }

    @Test(
        arguments: [
            [:], ["LISTEN_FDS": "1"], ["LISTEN_PID": "4711"], ["LISTEN_PID": "4711", "LISTEN_FDS": "0"],
            // the variables of another process
            ["LISTEN_PID": "4712", "LISTEN_FDS": "1"],
        ] as [[String: String]])
    func `no socket is taken without variables for this process`(_ environment: [String: String]) throws {
        let claimed = try SocketActivation.claim(for: context(environment), firstDescriptor: -1)
        if claimed != nil { Issue.record("a socket was taken") }
    }

    @Test(arguments: ["x", "-1", "1 "])
    func `an invalid count is refused`(_ count: String) {
        expectRefusal(.socketActivationInvalid, "LISTEN_FDS=\(count) is not valid") {
            _ = try SocketActivation.claim(for: activated(count: count), firstDescriptor: -1)
        }
    }

    @Test(arguments: ["x", "0", "-5"])
    func `an invalid pid is refused`(_ process: String) {
        expectRefusal(.socketActivationInvalid, "LISTEN_PID=\(process) is not valid") {
            _ = try SocketActivation.claim(for: activated(process: process), firstDescriptor: -1)
        }
    }

    @Test func `more than one socket is refused`() {
        expectRefusal(.socketActivationInvalid, "systemd passed 2 sockets", "a single ListenStream=") {
            _ = try SocketActivation.claim(for: activated(count: "2"), firstDescriptor: -1)
        }
    }

    @Test func `a closed descriptor is refused`() {
        expectRefusal(.socketActivationInvalid, "not open", "socket unit") {
            _ = try SocketActivation.claim(for: activated(), firstDescriptor: -1)
        }
    }

    @Test func `a datagram socket is refused`() throws {
        let passed = try boundSocket(SOCK_DGRAM, at: path, listening: false).release().rawValue
        expectRefusal(.socketActivationInvalid, "is not a stream socket", "ListenStream=") {
            _ = try SocketActivation.claim(for: activated(), firstDescriptor: passed)
        }
    }

    @Test func `a socket that does not listen is refused`() throws {
        let passed = try boundSocket(SOCK_STREAM, at: path, listening: false).release().rawValue
        expectRefusal(.socketActivationInvalid, "does not listen", "Accept=no") {
            _ = try SocketActivation.claim(for: activated(), firstDescriptor: passed)
        }
    }

    @Test func `a descriptor that is not a Unix socket is refused`() throws {
        let passed = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        expectRefusal(.socketActivationInvalid, "is not a Unix socket") {
            _ = try SocketActivation.claim(for: activated(), firstDescriptor: passed)
        }
        let file = open(try folder.write("", to: "file"), O_RDONLY)
        expectRefusal(.socketActivationInvalid, "is not a Unix socket") {
            _ = try SocketActivation.claim(for: activated(), firstDescriptor: file)
        }
    }
}

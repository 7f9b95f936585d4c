import NotifySystem
import SystemPackage
import Foundation
import Testing
import TestSupport

@testable import NotifyServer

@Suite(.serialized) struct ListeningSocketTests {
    private let folder: TemporaryFolder
    private var path: String { folder.file("n.sock") }

    init() throws {
        folder = try TemporaryFolder()
    }

    // The kernel creates a socket with mode 0777 minus the umask. No common umask results in one of these modes.
    @Test(arguments: [0o666, 0o600] as [mode_t])
    func `the socket has the requested mode regardless of the umask`(_ mode: mode_t) throws {
        let listening = try ListeningSocket.bind(path: path, mode: mode)
        #expect(permissions(of: path) == mode)
        #expect(!listening.isFromServiceManager)
        #expect(try canConnect(to: path))
    }

    @Test func `copies of the descriptor are nonblocking`() throws {
        let listening = try ListeningSocket.bind(path: path, mode: 0o600)
        for _ in 0..<2 {
            let descriptor = try listening.copyDescriptor()
            #expect(fcntl(descriptor.rawValue, F_GETFL) & O_NONBLOCK != 0)
            #expect(fcntl(descriptor.rawValue, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(try canConnect(to: path))
        listening.close()
        #expect(try !canConnect(to: path))
        #expect(throws: Errno.badFileDescriptor) { _ = try listening.copyDescriptor() }
    }

    @Test(arguments: [false, true])
    func `the backlog of the socket is restored`(isFromServiceManager: Bool) throws {
        let listening =
            try isFromServiceManager
            ? ListeningSocket(fromServiceManager: boundSocket(SOCK_STREAM, at: path, listening: true))
            : .bind(path: path, mode: 0o600)
        let descriptor = try listening.copyDescriptor()
        #expect(listen(descriptor.rawValue, 3) == 0)
        #expect(try connections(atMost: 200) < 10)
        try listening.restoreBacklog()
        #expect(try connections(atMost: 200) == 200)
    }

    /// Returns the number of clients, at most `limit`, that can connect and wait to be accepted.
    private func connections(atMost limit: Int) throws -> Int {
        let address = try #require(UnixSocketAddress(path: path))
        var clients: [CInt] = []
        defer { for client in clients { Glibc.close(client) } }
        while clients.count < limit {
            let client = try OwnedDescriptor.unixSocket(SOCK_STREAM).release().rawValue
            clients.append(client)
            guard address.withSockaddr({ connect(client, $0, $1) }) == 0 else { return clients.count - 1 }
        }
        return clients.count
    }

    @Test func `the socket's file is removed once`() throws {
        let listening = try ListeningSocket.bind(path: path, mode: 0o600)
        listening.removeFile()
        #expect(!exists(path))
        let next = try ListeningSocket.bind(path: path, mode: 0o600)
        listening.removeFile()
        #expect(exists(path))
        next.removeFile()
    }

    @Test func `the socket's file is removed with the socket`() throws {
        do { _ = try ListeningSocket.bind(path: path, mode: 0o600) }
        #expect(!exists(path))
    }

    @Test func `another file at the socket's path is not removed`() throws {
        let listening = try ListeningSocket.bind(path: path, mode: 0o600)
        #expect(unlink(path) == 0)
        let other = try boundSocket(SOCK_STREAM, at: path, listening: true)
        listening.removeFile()
        #expect(exists(path))
        _ = consume other
    }

    @Test func `a stale socket is replaced`() throws {
        try leaveStaleSocket(at: path)
        #expect(exists(path))
        let listening = try ListeningSocket.bind(path: path, mode: 0o600)
        #expect(try canConnect(to: path))
        listening.removeFile()
    }

    @Test func `a live socket is refused`() throws {
        let other = try boundSocket(SOCK_STREAM, at: path, listening: true)
        expectRefusal(.socketInUse, "another process serves the socket \(path)", "--socket") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
        #expect(try canConnect(to: path))
        _ = consume other
    }

    @Test func `a live socket with a full backlog is refused`() throws {
        let address = try #require(UnixSocketAddress(path: path))
        let other = try boundSocket(SOCK_STREAM, at: path, listening: false)
        #expect(listen(other.rawValue, 0) == 0)
        var clients: [CInt] = []
        defer { for client in clients { close(client) } }
        var result: CInt = 0
        while result == 0, clients.count < 64 {
            let client = try OwnedDescriptor.unixSocket(SOCK_STREAM).release().rawValue
            clients.append(client)
            result = address.withSockaddr { connect(client, $0, $1) }
        }
        #expect(result != 0)
        expectRefusal(.socketInUse, "another process serves the socket") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
    }

    @Test func `a live socket of another type is refused`() throws {
        let other = try boundSocket(SOCK_DGRAM, at: path, listening: false)
        expectRefusal(.socketInUse, path, "cannot be probed", "remove it") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
        #expect(exists(path))
        _ = consume other
    }

    @Test func `a second notifyd is refused even if the first socket's file is removed`() throws {
        let first = try ListeningSocket.bind(path: path, mode: 0o600)
        #expect(unlink(path) == 0)
        expectRefusal(.socketInUse, "another notifyd (pid \(getpid())) holds the socket \(path)") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
        first.removeFile()
    }

    @Test func `a file that is not a socket is never removed`() throws {
        _ = try folder.write("precious", to: "n.sock")
        expectRefusal(.socketPathUnusable, "\(path) exists and is not a socket", "--socket") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func `a symbolic link is refused, even to a socket`() throws {
        try leaveStaleSocket(at: folder.file("real"))
        #expect(symlink(folder.file("real"), path) == 0)
        expectRefusal(.socketPathUnusable, "is not a socket") {
            _ = try ListeningSocket.bind(path: path, mode: 0o600)
        }
        #expect(exists(folder.file("real")))
    }

    @Test func `a path has at most 107 bytes`() throws {
        let longest = path + String(repeating: "x", count: 107 - path.utf8.count)
        let listening = try ListeningSocket.bind(path: longest, mode: 0o600)
        #expect(exists(longest))
        listening.removeFile()
        expectRefusal(.socketPathUnusable, "108 bytes", "107", "--socket") {
            _ = try ListeningSocket.bind(path: longest + "x", mode: 0o600)
        }
        expectRefusal(.socketPathUnusable, "0 bytes") { _ = try ListeningSocket.bind(path: "", mode: 0o600) }
    }

    @Test func `the error names a missing folder`() {
        expectRefusal(
            .directoryUnusable, "the directory \(folder.file("none"))", "does not exist: create it", "--socket"
        ) {
            _ = try ListeningSocket.bind(path: folder.file("none/n.sock"), mode: 0o600)
        }
    }

    @Test func `the file of a socket passed by systemd is not removed`() throws {
        do {
            let passed = try boundSocket(SOCK_STREAM, at: path, listening: true)
            let listening = ListeningSocket(fromServiceManager: passed)
            #expect(listening.isFromServiceManager)
            #expect(listening.path == path)
            listening.removeFile()
        }
        #expect(exists(path))
    }
}

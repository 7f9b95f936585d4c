import Foundation
import NIOCore
import NIOPosix
import Testing

@testable import NotifyClient

@Suite struct SocketPathTests {
    private func withFolder(_ body: (String) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("np-\(UUID().uuidString.prefix(8))")
            .path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await body(folder)
    }

    /// Creates a socket, and returns its path.
    private func makeSocket(_ path: String, mode: Int = 0o700) throws -> String {
        let folder = (path as NSString).deletingLastPathComponent
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder)
        try #require(mknod(path, S_IFSOCK | 0o600, 0) == 0)
        return path
    }

    private func search(_ environment: [String: String], _ folder: String, uid: uid_t = getuid()) -> SocketSearch {
        SocketSearch(environment: environment, uid: uid, runtimeFolder: folder + "/run", temporaryFolder: folder)
    }

    @Test func `the order is explicit path, environment, the user's socket, the system's socket`() async throws {
        try await withFolder { folder in
            #expect(try search([:], folder).path(explicit: nil) == "/run/notifyd/notifyd.sock")
            let fallback = try makeSocket("\(folder)/notifyd-\(getuid())/notifyd.sock")
            #expect(try search([:], folder).path(explicit: nil) == fallback)
            let run = try makeSocket("\(folder)/run/\(getuid())/notifyd/notifyd.sock")
            #expect(try search([:], folder).path(explicit: nil) == run)
            let own = try makeSocket("\(folder)/xdg/notifyd/notifyd.sock")
            let environment = ["XDG_RUNTIME_DIR": "\(folder)/xdg"]
            #expect(try search(environment, folder).path(explicit: nil) == own)
            let named = environment.merging(["NOTIFYD_SOCKET": "/named"]) { $1 }
            #expect(try search(named, folder).path(explicit: nil) == "/named")
            #expect(try search(named, folder).path(explicit: "/explicit") == "/explicit")
        }
    }

    @Test func `a file that is not a socket is ignored`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/xdg/notifyd"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data().write(to: URL(fileURLWithPath: path + "/notifyd.sock"))
            let found = try search(["XDG_RUNTIME_DIR": "\(folder)/xdg"], folder).path(explicit: nil)
            #expect(found == SocketSearch.systemPath)
        }
    }

    @Test func `an insecure folder below /tmp is not trusted`() async throws {
        try await withFolder { folder in
            let path = try makeSocket("\(folder)/notifyd-\(getuid())/notifyd.sock", mode: 0o777)
            #expect(try search([:], folder).path(explicit: nil) == SocketSearch.systemPath)
            let own = (path as NSString).deletingLastPathComponent
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: own)
            #expect(try search([:], folder).path(explicit: nil) == path)
            // From here on, the search is for a user who does not own the folder. If root runs the test, the folder
            // first gets another owner, because folders of root are trusted.
            if getuid() == 0 { try #require(chown(own, 12345, 0) == 0) }
            let other = getuid() == 0 ? getuid() : getuid() + 1
            try FileManager.default.moveItem(atPath: own, toPath: "\(folder)/notifyd-\(other)x")
            symlink("\(folder)/notifyd-\(other)x", "\(folder)/notifyd-\(other)")
            #expect(try search([:], folder, uid: other).path(explicit: nil) == SocketSearch.systemPath)
            try FileManager.default.removeItem(atPath: "\(folder)/notifyd-\(other)")
            try FileManager.default.moveItem(
                atPath: "\(folder)/notifyd-\(other)x", toPath: "\(folder)/notifyd-\(other)")
            #expect(try search([:], folder, uid: other).path(explicit: nil) == SocketSearch.systemPath)
        }
    }

    @Test(arguments: [106, 107, 108])
    func `a path has at most 107 bytes`(count: Int) {
        let path = "/" + String(repeating: "x", count: count - 1)
        if count <= 107 {
            #expect(throws: Never.self) { try NotifyClient.socketPath(explicit: path) }
        } else {
            let error = #expect(throws: NotifyError.self) { try NotifyClient.socketPath(explicit: path) }
            #expect(error?.code == .invalidSocketPath)
        }
    }

    @Test func `an empty path is refused, an empty variable is ignored`() {
        #expect(throws: NotifyError.self) { try NotifyClient.socketPath(explicit: "") }
        #expect(throws: Never.self) { try NotifyClient.socketPath(environment: ["NOTIFYD_SOCKET": ""]) }
    }
}

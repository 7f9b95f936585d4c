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

    private func search(
        _ environment: [String: String], _ folder: String, uid: uid_t = getuid(), onSkip: ((String) -> Void)? = nil
    ) -> SocketSearch {
        SocketSearch(
            environment: environment, onSkip: onSkip, uid: uid, runtimeFolder: folder + "/run", temporaryFolder: folder)
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

    @Test func `a file that is not a socket is skipped with the reason`() async throws {
        try await withFolder { folder in
            let path = "\(folder)/xdg/notifyd"
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            let socket = path + "/notifyd.sock"
            try Data().write(to: URL(fileURLWithPath: socket))
            func skipped() throws -> [String] {
                var skipped: [String] = []
                let search = search(["XDG_RUNTIME_DIR": "\(folder)/xdg"], folder) { skipped.append($0) }
                #expect(try search.path(explicit: nil) == SocketSearch.systemPath)
                return skipped
            }
            #expect(try skipped() == ["no socket in '\(path)' is used: '\(socket)' is no socket"])
            unlink(socket)
            symlink("/run/notifyd/notifyd.sock", socket)
            #expect(try skipped() == ["no socket in '\(path)' is used: '\(socket)' is a link"])
        }
    }

    @Test func `an insecure folder below /tmp is not trusted`() async throws {
        try await withFolder { folder in
            let path = try makeSocket("\(folder)/notifyd-\(getuid())/notifyd.sock", mode: 0o777)
            #expect(try search([:], folder).path(explicit: nil) == SocketSearch.systemPath)
            let own = (path as NSString).deletingLastPathComponent
            try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: own)
            #expect(try search([:], folder).path(explicit: nil) == path)
            // From here on, another user owns the folder. If root runs the test, the folder first gets another owner,
            // because folders of root are trusted.
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

    /// A runtime folder, a folder in it, or a socket belongs to another user, as after `su`.
    @Test(.enabled(if: getuid() == 0), arguments: ["", "/notifyd", "/notifyd/notifyd.sock"])
    func `a socket of another user is skipped with the reason, and the search continues`(_ part: String) async throws {
        try await withFolder { folder in
            _ = try makeSocket("\(folder)/xdg/notifyd/notifyd.sock")
            let next = try makeSocket("\(folder)/notifyd-0/notifyd.sock")
            try #require(chown("\(folder)/xdg\(part)", 12345, 0) == 0)
            var skipped: [String] = []
            let environment = ["XDG_RUNTIME_DIR": "\(folder)/xdg"]
            let found = try search(environment, folder) { skipped.append($0) }.path(explicit: nil)
            #expect(found == next)
            let variable = part.isEmpty ? "$XDG_RUNTIME_DIR, " : ""
            #expect(
                skipped == [
                    "no socket in '\(folder)/xdg/notifyd' is used: \(variable)'\(folder)/xdg\(part)' belongs to uid 12345"
                ])
            // A path that is named explicitly is used as it is.
            skipped = []
            let named = environment.merging(["NOTIFYD_SOCKET": "\(folder)/xdg/notifyd/notifyd.sock"]) { $1 }
            #expect(try search(named, folder) { skipped.append($0) }.path(explicit: nil).hasPrefix("\(folder)/xdg"))
            #expect(skipped.isEmpty)
        }
    }

    @Test func `folders to which other users may write are skipped, except a sticky parent`() async throws {
        try await withFolder { folder in
            let path = try makeSocket("\(folder)/xdg/notifyd/notifyd.sock")
            let environment = ["XDG_RUNTIME_DIR": "\(folder)/xdg"]
            for (parent, own, isUsed) in [
                (0o777, 0o700, false), (0o1777, 0o700, true), (0o700, 0o770, false), (0o700, 0o1777, false),
            ] as [(mode_t, mode_t, Bool)] {
                try #require(chmod("\(folder)/xdg", parent) == 0 && chmod("\(folder)/xdg/notifyd", own) == 0)
                var skipped: [String] = []
                let found = try search(environment, folder) { skipped.append($0) }.path(explicit: nil)
                #expect(found == (isUsed ? path : SocketSearch.systemPath))
                #expect(skipped.count == (isUsed ? 0 : 1))
                #expect(skipped.allSatisfy { $0.contains("other users may write to") })
            }
        }
    }

    @Test(.enabled(if: getuid() == 0))
    func `the searched paths are in folders to which no other user may write`() async throws {
        try await withFolder { folder in
            let environment = ["XDG_RUNTIME_DIR": "\(folder)/xdg"]
            let paths = ["xdg/notifyd", "run/0/notifyd", "notifyd-0"].map { "\(folder)/\($0)/notifyd.sock" }
            #expect(search(environment, folder).searchedPaths == paths)
            for (index, path) in paths.enumerated() {
                _ = try makeSocket(path)
                let own = (path as NSString).deletingLastPathComponent
                try #require(chown(own, 12345, 0) == 0)
                #expect(search(environment, folder).searchedPaths == paths.filter { $0 != path }, "\(index)")
                try #require(chown(own, 0, 0) == 0)
            }
            #expect(search(environment, folder).searchedPaths == paths)
            #expect(search(["NOTIFYD_SOCKET": "/named"], folder).searchedPaths.isEmpty)
        }
    }

    @Test func `an insecure parent folder is not reported if it contains no folder for the socket`() async throws {
        try await withFolder { folder in
            mkdir("\(folder)/xdg", 0o777)
            chmod("\(folder)/xdg", 0o777)
            var skipped: [String] = []
            let environment = ["XDG_RUNTIME_DIR": "\(folder)/xdg"]
            let found = try search(environment, folder) { skipped.append($0) }.path(explicit: nil)
            #expect(found == SocketSearch.systemPath)
            #expect(skipped.isEmpty)
        }
    }

    @Test(arguments: [106, 107, 108])
    func `a path has at most 107 bytes`(count: Int) {
        let path = "/" + String(repeating: "x", count: count - 1)
        if count <= 107 {
            #expect(throws: Never.self) { try NotificationClient.socketPath(explicit: path) }
        } else {
            let error = #expect(throws: NotifyError.self) { try NotificationClient.socketPath(explicit: path) }
            #expect(error?.code == .invalidSocketPath)
        }
    }

    @Test func `an empty path is refused, and an empty variable is ignored`() {
        #expect(throws: NotifyError.self) { try NotificationClient.socketPath(explicit: "") }
        #expect(throws: Never.self) { try NotificationClient.socketPath(environment: ["NOTIFYD_SOCKET": ""]) }
    }
}

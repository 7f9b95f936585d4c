import Glibc
import Testing
import TestSupport

@testable import NotifyServer

@Suite struct DefaultPathsTests {
    @Test func `root has the system paths`() {
        let root = context(user: 0, ["HOME": "/root", "XDG_RUNTIME_DIR": "/run/user/0", "XDG_STATE_HOME": "/x"])
        let paths = DefaultPaths(for: root)
        #expect(paths.socketPath == "/run/notifyd/notifyd.sock")
        #expect(paths.socketDirectory == ServiceDirectory(path: "/run/notifyd", mode: 0o755))
        #expect(paths.databasePath == "/var/lib/notifyd/notifyd.db")
        #expect(paths.databaseDirectory == ServiceDirectory(path: "/var/lib/notifyd", mode: 0o700))
        #expect(paths.configurationPath == "/etc/notifyd/notifyd.yaml")
        #expect(paths.socketMode(for: "/tmp/other.sock", context: root) == 0o666)
    }

    @Test func `a user has paths below the user's folders`() {
        let user = context([
            "HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/1000", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c",
        ])
        let paths = DefaultPaths(for: user)
        #expect(paths.socketPath == "/run/user/1000/notifyd/notifyd.sock")
        #expect(paths.socketDirectory == ServiceDirectory(path: "/run/user/1000/notifyd", mode: 0o700))
        #expect(paths.databasePath == "/s/notifyd/notifyd.db")
        #expect(paths.databaseDirectory == ServiceDirectory(path: "/s/notifyd", mode: 0o700))
        #expect(paths.configurationPath == "/c/notifyd/notifyd.yaml")
        #expect(paths.socketMode(for: paths.socketPath, context: user) == 0o600)
    }

    @Test func `without XDG variables, the home directory is used`() {
        let paths = DefaultPaths(
            for: context(["HOME": "/home/u", "XDG_STATE_HOME": "", "XDG_CONFIG_HOME": "relative"]))
        #expect(paths.databasePath == "/home/u/.local/state/notifyd/notifyd.db")
        #expect(paths.configurationPath == "/home/u/.config/notifyd/notifyd.yaml")
    }

    @Test func `without XDG_RUNTIME_DIR, the login manager's folder is used if it exists`() throws {
        let folder = try TemporaryFolder()
        let user = context(["HOME": "/home/u"])
        let without = DefaultPaths(for: user, usersRuntimeDirectory: folder.path, temporaryDirectory: "/t")
        #expect(without.socketPath == "/t/notifyd-1000/notifyd.sock")
        #expect(without.socketDirectory.mode == 0o700)
        #expect(mkdir(folder.file("1000"), 0o700) == 0)
        let with = DefaultPaths(for: user, usersRuntimeDirectory: folder.path, temporaryDirectory: "/t")
        #expect(with.socketPath == folder.file("1000/notifyd/notifyd.sock"))
    }

    @Test func `a runtime folder in which another user could replace the socket's folder is not used`() throws {
        let folder = try TemporaryFolder()
        func paths(user: UInt32) -> DefaultPaths {
            DefaultPaths(
                for: context(user: user, ["HOME": "/h", "XDG_RUNTIME_DIR": folder.path]),
                usersRuntimeDirectory: folder.file("none"), temporaryDirectory: "/t")
        }
        for (mode, isUsed) in [(0o700, true), (0o1777, true), (0o770, false)] as [(mode_t, Bool)] {
            #expect(chmod(folder.path, mode) == 0)
            let user = geteuid() == 0 ? 1000 : geteuid()
            let expected = isUsed ? folder.file("notifyd/notifyd.sock") : "/t/notifyd-\(user)/notifyd.sock"
            #expect(paths(user: user).socketPath == expected)
            #expect((paths(user: user).runtimeDirectoryProblem == nil) == isUsed)
        }
        guard geteuid() == 0 else { return }
        #expect(chmod(folder.path, 0o700) == 0 && chown(folder.path, 54_321, 54_321) == 0)
        #expect(paths(user: 1000).socketPath == "/t/notifyd-1000/notifyd.sock")
        #expect(
            paths(user: 1000).runtimeDirectoryProblem
                == "XDG_RUNTIME_DIR is not used: '\(folder.path)' belongs to uid 54321")
        #expect(paths(user: 54_321).runtimeDirectoryProblem == nil)
    }

    @Test func `a system service uses the folders made by systemd`() {
        let service = context([
            "HOME": "/var/lib/notifyd", "RUNTIME_DIRECTORY": "/run/notifyd",
            "STATE_DIRECTORY": "/var/lib/notifyd:/other",
            "CONFIGURATION_DIRECTORY": "/etc/notifyd",
        ])
        let paths = DefaultPaths(for: service)
        #expect(paths.socketPath == DefaultPaths.systemSocketPath)
        #expect(paths.socketDirectory.mode == 0o755)
        #expect(paths.databasePath == "/var/lib/notifyd/notifyd.db")
        #expect(paths.configurationPath == "/etc/notifyd/notifyd.yaml")
        #expect(paths.socketMode(for: paths.socketPath, context: service) == 0o666)
    }

    @Test func `without a home directory, there is no database path`() {
        let paths = DefaultPaths(for: context(["XDG_RUNTIME_DIR": "/r"]))
        #expect(paths.databasePath == nil)
        #expect(paths.configurationPath == nil)
    }
}

import Foundation
import NotifySystem
import Testing
import TestSupport

@testable import NotifyServer

@Suite(.serialized) struct ServiceDirectoryTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // The test does not change the umask, because other tests create files in the same process. Every common umask
    // removes bits of the mode 0777.
    @Test(arguments: [0o777, 0o755, 0o700] as [mode_t])
    func `the folder has the requested mode regardless of the umask`(_ mode: mode_t) throws {
        try ServiceDirectory(path: folder.file("a/b"), mode: mode).prepare(owner: geteuid(), purpose: "socket")
        #expect(permissions(of: folder.file("a/b")) == mode)
    }

    @Test func `an existing private folder is made private`() throws {
        #expect(mkdir(folder.file("a"), 0o755) == 0)
        try ServiceDirectory(path: folder.file("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        #expect(permissions(of: folder.file("a")) == 0o700)
    }

    @Test func `an existing public folder keeps its mode`() throws {
        #expect(mkdir(folder.file("a"), 0o750) == 0)
        try ServiceDirectory(path: folder.file("a"), mode: 0o755).prepare(owner: geteuid(), purpose: "socket")
        #expect(permissions(of: folder.file("a")) == 0o750)
    }

    @Test func `a private folder of another user is refused`() throws {
        #expect(mkdir(folder.file("a"), 0o700) == 0)
        expectRefusal(.directoryUnusable, folder.file("a"), "belongs to uid \(geteuid()), not to uid 4242", "--socket")
        {
            try ServiceDirectory(path: folder.file("a"), mode: 0o700).prepare(owner: 4242, purpose: "socket")
        }
    }

    @Test(.enabled(if: geteuid() == 0), arguments: [true, false])
    func `a private folder within a folder of another user is refused`(exists: Bool) throws {
        #expect(mkdir(folder.file("home"), 0o777) == 0 && chown(folder.file("home"), 54_321, 54_321) == 0)
        if exists { #expect(mkdir(folder.file("home/notifyd"), 0o700) == 0) }
        let directory = ServiceDirectory(path: folder.file("home/notifyd"), mode: 0o700)
        let error = #expect(throws: ServerError.self) { try directory.prepare(owner: 0, purpose: "database") }
        let message = error?.message ?? ""
        #expect(message.contains("is in '\(folder.file("home"))', which belongs to uid 54321"))
        #expect(message.contains("choose another path with --database"))
        #expect((access(directory.path, F_OK) == 0) == exists)
        if !exists { try directory.prepare(owner: 54_321, purpose: "database") }
    }

    @Test func `a symbolic link in place of a private folder is refused`() throws {
        #expect(mkdir(folder.file("target"), 0o700) == 0)
        #expect(symlink(folder.file("target"), folder.file("a")) == 0)
        expectRefusal(.directoryUnusable, folder.file("a"), "is a symbolic link", "--socket") {
            try ServiceDirectory(path: folder.file("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "socket")
        }
    }

    @Test func `a file in place of a folder is refused`() throws {
        _ = try folder.write("", to: "a")
        expectRefusal(.directoryUnusable, folder.file("a"), "not a directory", "--database") {
            try ServiceDirectory(path: folder.file("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
        expectRefusal(.directoryUnusable, folder.file("a/b"), "is not a directory", "--database") {
            try ServiceDirectory(path: folder.file("a/b"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
    }

    @Test func `a folder without write permission is refused`() {
        // Not even root can create a folder in /proc.
        expectRefusal(.directoryUnusable, "/proc/notifyd", "--database") {
            try ServiceDirectory(path: "/proc/notifyd", mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
    }
}

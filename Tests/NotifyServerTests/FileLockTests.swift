import Foundation
import Testing

@testable import NotifyServer

@Suite struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func isHeldByOneAndFreeAgainWhenItGoes() throws {
        do {
            let held = try FileLock(guarding: folder("n.sock"), purpose: "socket")
            expectRefusal(
                .socketInUse, "another notifyd (pid \(getpid())) holds the socket", folder("n.sock"), "--socket"
            ) {
                _ = try FileLock(guarding: folder("n.sock"), purpose: "socket")
            }
            _ = consume held
        }
        #expect(throws: Never.self) { _ = try FileLock(guarding: folder("n.sock"), purpose: "socket") }
        #expect(permissions(folder("n.sock.lock")) == 0o600)
    }

    @Test func aLinkInItsPlaceIsNotFollowed() throws {
        let target = try folder.write("precious", to: "target")
        #expect(symlink(target, folder("n.db.lock")) == 0)
        expectRefusal(.folderUnusable, folder("n.db.lock"), "is a symbolic link") {
            _ = try FileLock(guarding: folder("n.db"), purpose: "database")
        }
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    }

    @Test func whatIsNoFileInItsPlaceIsRefused() throws {
        #expect(mkdir(folder("a.lock"), 0o700) == 0)
        expectRefusal(.folderUnusable, folder("a.lock"), "is a folder") {
            _ = try FileLock(guarding: folder("a"), purpose: "socket")
        }
        #expect(mkfifo(folder("b.lock"), 0o600) == 0)
        expectRefusal(.folderUnusable, folder("b.lock"), "not a regular file") {
            _ = try FileLock(guarding: folder("b"), purpose: "socket")
        }
    }

    @Test func aFolderThatIsMissingOrClosedIsNamed() {
        expectRefusal(.folderUnusable, folder("none"), "does not exist: create it", "--socket") {
            _ = try FileLock(guarding: folder("none/n.sock"), purpose: "socket")
        }
        expectRefusal(.folderUnusable, "/sys", "--socket") {
            _ = try FileLock(guarding: "/sys/n.sock", purpose: "socket")
        }
    }
}

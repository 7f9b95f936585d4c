import Foundation
import NotifySystem
import SystemPackage
import TestSupport
import Testing

@Suite struct FileLockTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func failure(of path: String) -> FileLock.Failure? {
        do throws(FileLock.Failure) {
            _ = try FileLock(guarding: path)
            return nil
        } catch {
            return error
        }
    }

    @Test func aLockIsHeldOnceAndFreeAfterItsHolder() throws {
        do {
            let held = try FileLock(guarding: folder.file("n.sock"))
            #expect(failure(of: folder.file("n.sock")) == .held(by: getpid()))
            _ = consume held
        }
        #expect(failure(of: folder.file("n.sock")) == nil)
        #expect(exists(folder.file("n.sock.lock")))
    }

    @Test func theLockFileIsPrivateAlsoWhereItExisted() throws {
        let path = try folder.write("", to: "n.db.lock")
        #expect(chmod(path, 0o666) == 0)
        let held = try FileLock(guarding: folder.file("n.db"))
        #expect(permissions(of: path) == 0o600)
        _ = consume held
    }

    @Test func aHolderThatLeftNoNumberIsUnknown() throws {
        let path = try folder.write("not a number\n", to: "n.lock")
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect(failure(of: folder.file("n")) == .held(by: nil))
    }

    @Test func aSymbolicLinkIsNotFollowed() throws {
        let target = try folder.write("precious", to: "target")
        #expect(symlink(target, folder.file("n.lock")) == 0)
        #expect(failure(of: folder.file("n")) == .notARegularFile(.symbolicLink))
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    }

    @Test func otherKindsOfFilesAreRefused() throws {
        #expect(mkdir(folder.file("a.lock"), 0o700) == 0)
        #expect(failure(of: folder.file("a")) == .notARegularFile(.directory))
        #expect(mkfifo(folder.file("b.lock"), 0o600) == 0)
        #expect(failure(of: folder.file("b")) == .notARegularFile(.fifo))
    }

    @Test func aFolderThatIsMissingIsAnErrorOfTheSystem() {
        #expect(failure(of: folder.file("none/n")) == .notOpened(.noSuchFileOrDirectory))
    }
}

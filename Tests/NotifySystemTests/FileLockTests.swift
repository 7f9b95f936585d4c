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

    private func failure(of path: String, pause: () -> Void = {}) -> FileLock.Failure? {
        do throws(FileLock.Failure) {
            _ = try FileLock(guarding: path, pause: pause)
            return nil
        } catch {
            return error
        }
    }

    @Test func `a lock has one holder and is free after its release`() throws {
        do {
            let held = try FileLock(guarding: folder.file("n.sock"))
            #expect(failure(of: folder.file("n.sock")) == .held(by: getpid()))
            _ = consume held
        }
        #expect(failure(of: folder.file("n.sock")) == nil)
        #expect(exists(folder.file("n.sock.lock")))
    }

    @Test func `an existing lock file becomes private`() throws {
        let path = try folder.write("", to: "n.db.lock")
        #expect(chmod(path, 0o666) == 0)
        let held = try FileLock(guarding: folder.file("n.db"))
        #expect(permissions(of: path) == 0o600)
        _ = consume held
    }

    @Test func `a holder without a written pid is unknown`() throws {
        let path = try folder.write("not a number\n", to: "n.lock")
        let descriptor = open(path, O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        #expect(failure(of: folder.file("n")) == .held(by: nil))
    }

    @Test func `a symbolic link is not followed`() throws {
        let target = try folder.write("precious", to: "target")
        #expect(symlink(target, folder.file("n.lock")) == 0)
        #expect(failure(of: folder.file("n")) == .notARegularFile(.symbolicLink))
        #expect(try String(contentsOfFile: target, encoding: .utf8) == "precious")
    }

    @Test func `files that are not regular are refused`() throws {
        #expect(mkdir(folder.file("a.lock"), 0o700) == 0)
        #expect(failure(of: folder.file("a")) == .notARegularFile(.directory))
        #expect(mkfifo(folder.file("b.lock"), 0o600) == 0)
        #expect(failure(of: folder.file("b")) == .notARegularFile(.fifo))
    }

    @Test func `a hard link is refused without changes`() throws {
        let precious = try folder.write("precious", to: "precious")
        #expect(chmod(precious, 0o644) == 0)
        let path = folder.file("n.lock")
        #expect(link(precious, path) == 0)
        #expect(failure(of: folder.file("n")) == .notTrusted(.isHardLinked(path, names: 2)))
        #expect(try String(contentsOfFile: precious, encoding: .utf8) == "precious")
        #expect(permissions(of: precious) == 0o644)
    }

    @Test(.enabled(if: geteuid() == 0)) func `a file of another user is refused without changes`() throws {
        let path = try folder.write("theirs", to: "n.lock")
        #expect(chmod(path, 0o644) == 0 && chown(path, 54_321, 54_321) == 0)
        #expect(failure(of: folder.file("n")) == .notTrusted(.belongs(path, to: 54_321)))
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "theirs")
        #expect(permissions(of: path) == 0o644)
    }

    @Test(arguments: [0o777, 0o770, 0o702] as [mode_t])
    func `a folder that other users may write to is refused`(mode: mode_t) throws {
        #expect(chmod(folder.path, mode) == 0)
        #expect(failure(of: folder.file("n")) == .notTrusted(.isWritableByOthers(folder.path, mode: mode)))
        #expect(!exists(folder.file("n.lock")))
    }

    @Test(arguments: [0o1777, 0o755, 0o700] as [mode_t])
    func `a folder where other users can't replace the file is accepted`(mode: mode_t) throws {
        #expect(chmod(folder.path, mode) == 0)
        #expect(failure(of: folder.file("n")) == nil)
    }

    @Test(.enabled(if: geteuid() == 0), arguments: [0o755, 0o1777] as [mode_t])
    func `root refuses a folder of another user`(mode: mode_t) throws {
        #expect(chmod(folder.path, mode) == 0 && chown(folder.path, 54_321, 54_321) == 0)
        #expect(failure(of: folder.file("n")) == .notTrusted(.belongs(folder.path, to: 54_321)))
        #expect(!exists(folder.file("n.lock")))
    }

    @Test func `a missing folder is reported as a system error`() {
        #expect(failure(of: folder.file("none/n")) == .notOpened(.noSuchFileOrDirectory))
    }

    /// A check holds a shared lock for a moment.
    @Test func `checks do not exclude each other, and taking a lock waits for their end`() throws {
        let path = try folder.write("1\n", to: "n.lock")
        let check = open(path, O_RDWR | O_CLOEXEC)
        #expect(flock(check, LOCK_SH | LOCK_NB) == 0)
        try FileLock.check(guarding: folder.file("n"))
        var pauses = 0
        let refusal = failure(of: folder.file("n")) { pauses += 1 }
        #expect(refusal == .held(by: 1), "the check takes too long")
        #expect(pauses == FileLock.maximumPauses)
        pauses = 0
        let held = try FileLock(guarding: folder.file("n")) {
            pauses += 1
            // The check ends during the last pause.
            if pauses == FileLock.maximumPauses { close(check) }
        }
        #expect(pauses == FileLock.maximumPauses)
        let isInPlace = held.isInPlace(guarding: folder.file("n"))
        #expect(isInPlace)
    }

    @Test func `a check finds a held lock, and neither takes the lock nor makes a file`() throws {
        let folder = try TemporaryFolder()
        let guarded = folder.file("guarded")
        try FileLock.check(guarding: guarded)
        #expect(!exists(guarded + ".lock"))
        do {
            let lock = try FileLock(guarding: guarded)
            #expect(throws: FileLock.Failure.held(by: getpid())) { try FileLock.check(guarding: guarded) }
            let isInPlace = lock.isInPlace(guarding: guarded)
            #expect(isInPlace)
        }
        try FileLock.check(guarding: guarded)
        let next = try FileLock(guarding: guarded)
        let isInPlace = next.isInPlace(guarding: guarded)
        #expect(isInPlace)
        #expect(throws: FileLock.Failure.notOpened(.noSuchFileOrDirectory)) {
            try FileLock.check(guarding: folder.file("none/guarded"))
        }
    }
}

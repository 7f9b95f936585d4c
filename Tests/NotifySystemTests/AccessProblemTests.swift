import Foundation
import NotifySystem
import SystemPackage
import TestSupport
import Testing

@Suite struct AccessProblemTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a")])
    func `the folder of a path is derived`(_ path: String, _ expected: String) {
        #expect(AccessProblem.directory(of: path) == expected)
    }

    @Test func `a missing folder is named`() {
        #expect(
            AccessProblem.describe(.noSuchFileOrDirectory, opening: folder.file("none/n.db"))
                == "the directory '\(folder.file("none"))' does not exist; create it")
    }

    @Test func `a folder that takes no files is not reported as missing`() {
        #expect(
            AccessProblem.describe(.noSuchFileOrDirectory, opening: "/proc/n.db")
                == "no file can be created in the directory '/proc'")
    }

    @Test func `a file in place of a folder is named`() throws {
        let file = try folder.write("", to: "file")
        #expect(AccessProblem.describe(.notDirectory, opening: file + "/a/n.db") == "'\(file)' is not a directory")
    }

    // The next two tests also pass as root: the reason is derived from the file or folder at the path, even if root
    // could open the file.
    @Test func `the reason names the owner and mode of an existing file`() throws {
        let path = try folder.write("", to: "n.db.lock")
        #expect(chmod(path, 0o400) == 0)
        let reason = AccessProblem.describe(.permissionDenied, opening: path)
        #expect(reason.hasPrefix("the file belongs to uid \(geteuid()) and has the mode 0400, and notifyd runs as uid"))
        #expect(!reason.contains("directory"))
    }

    @Test func `the reason names the owner and mode of the folder if the file is missing`() throws {
        #expect(chmod(folder.path, 0o500) == 0)
        defer { chmod(folder.path, 0o700) }
        let reason = AccessProblem.describe(.permissionDenied, opening: folder.file("n.db"))
        #expect(reason.hasPrefix("the directory '\(folder.path)' belongs to uid \(geteuid()) and has the mode 0500,"))
        #expect(reason.hasSuffix("let notifyd's user write to it"))
    }

    @Test(.enabled(if: geteuid() != 0, "root may enter every folder"))
    func `the reason names an ancestor folder that can't be entered`() throws {
        #expect(mkdir(folder.file("closed"), 0o700) == 0 && mkdir(folder.file("closed/in"), 0o700) == 0)
        #expect(chmod(folder.file("closed"), 0o600) == 0)
        defer { chmod(folder.file("closed"), 0o700) }
        let reason = AccessProblem.describe(.permissionDenied, opening: folder.file("closed/in/n.db"))
        #expect(reason.hasPrefix("the directory '\(folder.file("closed"))' belongs to"))
        #expect(reason.hasSuffix("let notifyd's user enter it"))
    }

    @Test(arguments: [
        (Errno.readOnlyFileSystem, "read-only"), (.noSpace, "full; make room"), (.tooManyOpenFiles, "open"),
    ])
    func `a read-only or full file system, and any other error, are described`(_ error: Errno, _ part: String) {
        #expect(AccessProblem.describe(error, opening: folder.file("n.db")).contains(part))
    }
}

import Foundation
import Testing

@testable import NotifyServer

@Suite(.serialized) struct FolderTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    // The umask is the whole process's, and other tests make files meanwhile: it stays as it is. Every usual one takes
    // bits of the first mode away.
    @Test(arguments: [0o777, 0o755, 0o700] as [mode_t])
    func isMadeWithItsModeWhateverTheUmask(_ mode: mode_t) throws {
        try Folder(path: folder("a/b"), mode: mode).prepare(owner: geteuid(), purpose: "socket")
        #expect(permissions(folder("a/b")) == mode)
    }

    @Test func aPrivateFolderThatIsThereIsTightened() throws {
        #expect(mkdir(folder("a"), 0o755) == 0)
        try Folder(path: folder("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        #expect(permissions(folder("a")) == 0o700)
    }

    @Test func aPublicFolderThatIsThereStaysAsItIs() throws {
        #expect(mkdir(folder("a"), 0o750) == 0)
        try Folder(path: folder("a"), mode: 0o755).prepare(owner: geteuid(), purpose: "socket")
        #expect(permissions(folder("a")) == 0o750)
    }

    @Test func aPrivateFolderOfSomebodyElseIsRefused() throws {
        #expect(mkdir(folder("a"), 0o700) == 0)
        expectRefusal(.folderUnusable, folder("a"), "belongs to uid \(geteuid()), not to uid 4242", "--socket") {
            try Folder(path: folder("a"), mode: 0o700).prepare(owner: 4242, purpose: "socket")
        }
    }

    @Test func aLinkInPlaceOfAPrivateFolderIsRefused() throws {
        #expect(mkdir(folder("target"), 0o700) == 0)
        #expect(symlink(folder("target"), folder("a")) == 0)
        expectRefusal(.folderUnusable, folder("a"), "is a symbolic link", "--socket") {
            try Folder(path: folder("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "socket")
        }
    }

    @Test func aFileInPlaceOfAFolderIsRefused() throws {
        _ = try folder.write("", to: "a")
        expectRefusal(.folderUnusable, folder("a"), "not a folder", "--database") {
            try Folder(path: folder("a"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
        expectRefusal(.folderUnusable, folder("a/b"), "is not a folder", "--database") {
            try Folder(path: folder("a/b"), mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
    }

    @Test func whereNobodyMayWriteIsRefused() {
        // The kernel's own file systems refuse root as well.
        expectRefusal(.folderUnusable, "/proc/notifyd", "--database") {
            try Folder(path: "/proc/notifyd", mode: 0o700).prepare(owner: geteuid(), purpose: "database")
        }
    }

    @Test(arguments: [("/a/b", "/a"), ("/a", "/"), ("a", "."), ("a/b", "a")])
    func knowsWhereAPathIs(_ path: String, _ expected: String) {
        #expect(Folder.containing(path) == expected)
    }
}

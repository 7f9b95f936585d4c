import Glibc
import Foundation
import NotifySystem
import SystemPackage
import TestSupport
import Testing

@Suite struct FileStatusTests {
    private let folder: TemporaryFolder
    private var file: String { folder.file("file") }

    init() throws {
        folder = try TemporaryFolder()
        try Data(repeating: 1, count: 1000).write(to: URL(filePath: file))
    }

    @Test func `the size of a file is read by path and by descriptor`() throws {
        let open = try OwnedDescriptor.openPath(file)
        #expect(try FileStatus(at: file).bytes == 1000 && FileStatus(open).bytes == 1000)
        #expect(truncate(file, 10) == 0)
        #expect(try FileStatus(at: file) == FileStatus(open))
        #expect(try FileStatus(open).bytes == 10)
    }

    @Test func `two names of a file have the same identity, and a copy has another one`() throws {
        #expect(link(file, folder.file("name")) == 0)
        try FileManager.default.copyItem(atPath: file, toPath: folder.file("copy"))
        let identity = try FileStatus(at: file).identity
        #expect(try FileStatus(at: folder.file("name")).identity == identity)
        #expect(try FileStatus(at: folder.file("copy")).identity != identity)
    }

    @Test func `a symbolic link is not followed`() throws {
        #expect(symlink(file, folder.file("link")) == 0)
        #expect(try FileStatus(at: folder.file("link")).identity != FileStatus(at: file).identity)
    }

    @Test func `the status of a missing file is an error`() {
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try FileStatus(at: folder.file("missing")) }
        #expect(throws: Errno.noSuchFileOrDirectory) { _ = try OwnedDescriptor.openPath(folder.file("missing")) }
    }

    @Test func `a descriptor of a path stays with its file, and does not release locks when it is closed`() throws {
        let locked = try OwnedDescriptor.open(file, .readWrite)
        #expect(lockf(locked.rawValue, F_LOCK, 0) == 0)
        do {
            let path = try OwnedDescriptor.openPath(file)
            #expect(rename(file, folder.file("moved")) == 0)
            #expect(try FileStatus(path).bytes == 1000)
        }
        let locks = try String(contentsOfFile: "/proc/self/fdinfo/\(locked.rawValue)", encoding: .utf8)
        #expect(locks.contains("lock:"))
    }
}

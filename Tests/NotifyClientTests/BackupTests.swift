import Foundation
import NIOCore
import NotifyWire
import TestSupport
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct BackupTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var file: String { folder.file("copy") }

    private var files: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: folder.path) } }

    /// Answers a backup request and then chunk requests with the bytes of `chunks`, until the client ends the backup.
    ///
    /// - Returns: The backup request, and the offsets that were requested.
    @discardableResult
    private func serve(
        _ connection: FakeConnection, total: Int, _ chunks: [String]
    ) async throws -> (BackupRequest, offsets: [UInt64]) {
        let begin: BackupRequest = try await connection.expect()
        connection.send(BackupReady(request: begin.request, bytes: UInt64(total)))
        var offsets: [UInt64] = []
        var rest = chunks[...]
        while true {
            let request: BackupChunkRequest = try await connection.expect()
            if request.offset == BackupChunkRequest.end {
                connection.send(BackupChunk(request: request.request, bytes: ByteBuffer()))
                return (begin, offsets)
            }
            offsets.append(request.offset)
            connection.send(BackupChunk(request: request.request, bytes: ByteBuffer(string: rest.popFirst() ?? "")))
        }
    }

    @Test func `a backup is requested chunk by chunk, and gets its name when it is complete`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 11, ["dear ", "reader"])
                let progress = Journal()
                try await client.administration.backUp(to: file) { progress.note("\($0.written) of \($0.total)") }
                let (begin, offsets) = try await served
                #expect(offsets == [0, 5])
                #expect(progress.take() == ["0 of 11", "5 of 11", "11 of 11"])
                var status = stat()
                #expect(stat(folder.path, &status) == 0)
                #expect(
                    begin.target
                        == FileLocation(
                            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), name: "copy"))
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "dear reader")
        #expect(permissions(of: file) == 0o600)
        #expect(try files == ["copy"])
    }

    /// A file without a name leaves nothing behind if the process is killed.
    @Test func `an incomplete backup has no name, if the file system permits that`() async throws {
        let unnamed = BackupTarget.unnamedFile(in: folder.path)
        if let unnamed { close(unnamed) }
        _ = try folder.write("", to: "copy")
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 11, ["dear ", "reader"])
                let counts = Journal()
                try await client.administration.backUp(to: file, replacingFile: true) { _ in
                    counts.note("\((try? files.count) ?? 0)")
                }
                _ = try await served
                #expect(counts.take() == Array(repeating: unnamed == nil ? "2" : "1", count: 3))
            }
        }
        #expect(try files == ["copy"])
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "dear reader")
        #expect(permissions(of: file) == 0o600)
    }

    @Test func `an existing file is replaced only on request`() async throws {
        try Self.header(version: 1).write(to: URL(fileURLWithPath: file))
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let error = await #expect(throws: NotifyError.self) { try await client.administration.backUp(to: file) }
                #expect(error?.code == .fileNotWritten)
                #expect(error?.message == "the file '\(file)' exists already; it was not changed")
                #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == Self.header(version: 1))
                async let served = serve(daemon.accept(), total: 3, ["new"])
                try await client.administration.backUp(to: file, replacingFile: true)
                _ = try await served
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "new")
        #expect(try files == ["copy"])
    }

    /// The header of a database with a version of the format: 1 for a backup, 2 for the database of a daemon.
    private static func header(version: UInt8) -> Data {
        var header = Data("SQLite format 3\0".utf8) + Data(repeating: 0, count: 84)
        header.replaceSubrange(18..<20, with: [version, version])
        header.replaceSubrange(68..<72, with: Data("ntfd".utf8))
        return header
    }

    @Test func `a file that is neither a backup nor empty is never replaced`() async throws {
        var other = Self.header(version: 1)
        other.replaceSubrange(68..<72, with: Data("abcd".utf8))
        let client = NotificationClient(configuration: .test("/nowhere"))
        func expectRefusal() async throws {
            let error = await #expect(throws: NotifyError.self) {
                try await client.administration.backUp(to: file, replacingFile: true)
            }
            #expect(error?.code == .fileNotWritten)
            #expect(error?.message.contains("'\(file)' exists and is not a backup of notifyd") == true)
        }
        for content in [Data("4711\n".utf8), Self.header(version: 2), other, Self.header(version: 1).prefix(99)] {
            try content.write(to: URL(fileURLWithPath: file))
            try await expectRefusal()
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)) == content)
        }
        // This is a lock file on which a lock is held.
        try Data().write(to: URL(fileURLWithPath: file))
        let lock = open(file, O_RDWR | O_CLOEXEC)
        defer { close(lock) }
        #expect(flock(lock, LOCK_EX | LOCK_NB) == 0)
        try await expectRefusal()
        #expect(try files == ["copy"])
    }

    @Test func `an empty file that is to be replaced is kept if it is written to meanwhile`() async throws {
        _ = try folder.write("", to: "copy")
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 3, ["new"])
                let error = await #expect(throws: NotifyError.self) {
                    try await client.administration.backUp(to: file, replacingFile: true) { _ in
                        _ = try? folder.write("mine", to: "copy")
                    }
                }
                #expect(error?.code == .fileNotWritten)
                _ = try await served
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        #expect(try files == ["copy"])
    }

    @Test func `a backup is written to an open file`() async throws {
        let output = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(output) }
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 11, ["dear ", "reader"])
                try await client.administration.backUp(toDescriptor: output)
                #expect(try await served.0.target == FileLocation(device: 0, inode: 0, name: ""))
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "dear reader")
    }

    @Test func `a file that appears while the backup is written is kept`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 3, ["new"])
                let error = await #expect(throws: NotifyError.self) {
                    try await client.administration.backUp(to: file) { _ in _ = try? folder.write("mine", to: "copy") }
                }
                #expect(error?.code == .fileNotWritten)
                _ = try await served
            }
        }
        #expect(try String(contentsOfFile: file, encoding: .utf8) == "mine")
        #expect(try files == ["copy"])
    }

    @Test(arguments: ["", "/", "missing/copy", "folder", "link"])
    func `an unusable path is refused without a request`(path: String) async throws {
        try FileManager.default.createDirectory(atPath: folder.file("folder"), withIntermediateDirectories: false)
        try FileManager.default.createSymbolicLink(atPath: folder.file("link"), withDestinationPath: "folder")
        let client = NotificationClient(configuration: .test("/nowhere"))
        let path = path.isEmpty || path == "/" ? path : folder.file(path)
        let error = await #expect(throws: NotifyError.self) {
            try await client.administration.backUp(to: path, replacingFile: true)
        }
        #expect([.invalidArgument, .fileNotWritten].contains(error?.code))
        #expect(try files.sorted() == ["folder", "link"])
    }

    @Test func `a refused backup leaves no file`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let backup = Task { try await client.administration.backUp(to: file) }
                let connection = try await daemon.accept()
                let begin: BackupRequest = try await connection.expect()
                connection.send(ErrorFrame(request: begin.request, code: .logFull, message: "no room"))
                let error = await #expect(throws: NotifyError.self) { try await backup.value }
                #expect(error?.code == .logFull)
            }
        }
        #expect(try files == [])
    }

    @Test func `a lost connection fails the backup and leaves no file`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let backup = Task { try await client.administration.backUp(to: file) }
                let connection = try await daemon.accept()
                let begin: BackupRequest = try await connection.expect()
                connection.send(BackupReady(request: begin.request, bytes: 10))
                let _: BackupChunkRequest = try await connection.expect()
                try await connection.close()
                let error = await #expect(throws: NotifyError.self) { try await backup.value }
                #expect(error?.code == .connectionLost)
            }
        }
        #expect(try files == [])
    }

    @Test func `a cancelled backup is ended`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                let backup = Task { try await client.administration.backUp(to: file) }
                let connection = try await daemon.accept()
                let begin: BackupRequest = try await connection.expect()
                backup.cancel()
                let error = await #expect(throws: NotifyError.self) { try await backup.value }
                #expect(error?.code == .cancelled)
                let end: BackupChunkRequest = try await connection.expect()
                #expect(end.offset == BackupChunkRequest.end)
                connection.send(ErrorFrame(request: begin.request, code: .invalidArgument, message: "ended"))
                connection.send(BackupChunk(request: end.request, bytes: ByteBuffer()))
            }
        }
        #expect(try files == [])
    }

    @Test func `an empty chunk before the end is an error`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let served = serve(daemon.accept(), total: 9, ["new"])
                let error = await #expect(throws: NotifyError.self) { try await client.administration.backUp(to: file) }
                #expect(error?.code == .protocolViolation)
                _ = try await served
            }
        }
        #expect(try files == [])
    }
}

import Foundation
import NIOCore
import NotifyLog
import NotifyStore
import NotifyWire
import TestSupport
import Testing

/// `notifyd --check` and `notifyd --repair`: output and exit status.
@Suite(.timeLimit(.minutes(25))) struct DatabaseCheckCommandTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private var database: String { folder.file("log.db") }

    private func makeLog(messages: UInt64) async throws {
        let store = try Store.open(path: database)
        let block = LogBlock(messages: messages)
        let outcome = await completion { (done: @escaping @Sendable (CommitOutcome) -> Void) in
            store.commit(CommitBatch(id: 1, blocks: [block], reserveBelow: messages + 100), completion: done)
        }
        try outcome.result.get()
        try store.close(nextSequence: messages + 1)
    }

    private func run(_ arguments: String...) throws -> (status: Int32, output: String, errors: String) {
        try DaemonProcess(arguments, environment: ["HOME": folder.path]).end()
    }

    /// Changes a byte of the payload of the message with this number.
    private func damage(message: Int) throws {
        var data = try Data(contentsOf: URL(fileURLWithPath: database))
        let range = try #require(data.range(of: Data("payload \(message);".utf8)))
        data[range.lowerBound] ^= 1
        try data.write(to: URL(fileURLWithPath: database))
    }

    @Test func `a sound log has status 0, and a damaged one status 1`() async throws {
        try await makeLog(messages: 100)
        let sound = try run("--check", database)
        #expect(sound.status == 0)
        #expect(sound.output.contains("sound messages: 100, names: 1, "))
        #expect(sound.output.hasSuffix("no damage was found\n"))
        for message in [7, 8, 20] { try damage(message: message) }
        let damaged = try run("--check", "--database", database)
        #expect(damaged.status == 1)
        #expect(damaged.output.contains("damaged messages: 3 (7 to 8, 20)\n"))
        #expect(damaged.output.contains("notifyd --repair '\(database)'"))

        let repair = try run("--repair", database)
        #expect(repair.status == 0)
        #expect(repair.output.contains("lost messages: 3 (7 to 8, 20)\n"))
        #expect(
            repair.output.contains("kept messages: 97, durable subscriptions: 0, values: 0, in '\(database).repaired'"))
        #expect(try run("--check", database + ".repaired").status == 0)
        let again = try run("--repair", database)
        #expect(again.status == 1)
        #expect(again.errors.contains("exists"))
    }

    @Test func `a file that can't be checked has status 2`() throws {
        let missing = try run("--check", database)
        #expect(missing.status == 2)
        #expect(missing.errors == "notifyd: there is no file '\(database)'\n")
        try Data("text".utf8).write(to: URL(fileURLWithPath: database))
        #expect(try run("--check", database).errors == "notifyd: the file '\(database)' is not a database\n")
        let repair = try run("--repair", database)
        #expect(repair.status == 1)
        #expect(repair.errors.contains("nothing can be read from it: restore a backup with \"notifyd --restore FILE\""))
        for arguments in [[database], ["--check", ""], ["--check", "--repair", database], ["--to", "x"]] {
            let end = try DaemonProcess(arguments, environment: ["HOME": folder.path]).end()
            #expect(end.status == 64, "\(arguments)")
        }
    }

    @Test func `a log in use is refused`() async throws {
        try await makeLog(messages: 1)
        let daemon = try DaemonProcess(
            ["--socket", folder.file("n.sock"), "--database", database], environment: ["HOME": folder.path])
        daemon.waitForError("listening on")
        let check = try run("--check", database)
        #expect(check.status == 2)
        #expect(check.errors.contains("notifyd (process \(daemon.processID)) uses the database"))
        #expect(try run("--repair", database).status == 1)
        daemon.signal(SIGTERM)
        #expect(daemon.end().status == 0)
    }

    @Test func `a killed repair leaves the log unchanged, and no file under the new name`() async throws {
        try await makeLog(messages: 50_000)
        try damage(message: 40_000)
        let before = try Data(contentsOf: URL(fileURLWithPath: database))
        let new = folder.file("new.db")
        let repair = try DaemonProcess(["--repair", database, "--to", new], environment: ["HOME": folder.path])
        // The write-ahead log of the unfinished file exists while messages are written.
        while !exists(new + ".part-wal"), !exists(new) { sched_yield() }
        repair.signal(SIGKILL)
        _ = repair.end()
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
        #expect(!exists(new))
        let refused = try run("--repair", database, "--to", new)
        #expect(refused.status == 1)
        #expect(refused.errors.contains("'\(new).part' exists"))
        try FileManager.default.removeItem(atPath: new + ".part")
        #expect(try run("--repair", database, "--to", new).output.contains("kept messages: 49999, "))
        #expect(try run("--check", new).status == 0)
        #expect(try Data(contentsOf: URL(fileURLWithPath: database)) == before)
    }
}

extension LogBlock {
    fileprivate init(messages: UInt64) {
        self.init()
        for sequence in 1...messages {
            let offset = frames.writerIndex
            let stamp = Stamp(sequence: sequence, timeMicroseconds: 1, uid: 1, gid: 1, pid: 1)
            let empty = UnsafeRawBufferPointer(start: nil, count: 0)
            let length = Array("a.name".utf8).withUnsafeBytes { name in
                Array("payload \(sequence);".utf8).withUnsafeBytes { payload in
                    Delivery.append(
                        stamp,
                        MessageParts(name: name, object: empty, messageID: empty, headers: empty, payload: payload),
                        to: &frames)
                }
            }
            entries.append(Entry(sequence: sequence, offset: UInt32(offset), length: UInt32(length)))
        }
    }
}

import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing

@testable import NotifyStore

/// Rows of values with impossible content but correct checksums, which a crafted file can contain.
@Suite(.timeLimit(.minutes(25)))
struct ForgedValueTests {
    enum Forgery: Sendable, CustomTestStringConvertible {
        case number(Int64)
        case sequence(UInt64)
        case name(String)
        case time(UInt64)

        var testDescription: String { "\(self)" }
    }

    private static let end = Limits.sequenceEnd
    private static let forgeries: [Forgery] =
        [.number(0), .number(-3), .number(.min), .number(Int64(end / 2)), .number(Int64(end)), .number(.max)]
        + [.sequence(0), .sequence(end), .sequence(.max), .time(1 << 63), .time(.max)]
        + ["a..8", "a.*", "a.>", "a b", ".a", "a.", "a\u{1}", Array(repeating: "a", count: 33).joined(separator: ".")]
        .map { .name($0) }

    private let folder: TemporaryFolder
    private let messages = (1...5).map { StoredMessage($0, "a.\($0)", payload: [UInt8($0), 9]) }
    private var others: [StoredMessage] { messages.filter { $0.sequence != 3 } }

    init() throws {
        folder = try TemporaryFolder()
    }

    /// A closed log with five values, of which the third is forged.
    private func makeLog(_ forgery: Forgery, isCleared: Bool = false) async throws {
        let store = try Store.open(path: folder.database)
        await store.set(messages, [1, 2, 3, 4, 5])
        try store.close(nextSequence: 6)
        let connection = try Schema.open(folder.database).connection
        defer { connection.close() }
        try connection.execute("DELETE FROM retained WHERE number = 3")
        var (message, change) = (messages[2], ValueChange(sequence: 3, number: 3, isCleared: isCleared))
        switch forgery {
        case .number(let number): change.number = UInt64(bitPattern: number)
        case .sequence(let sequence): message.sequence = sequence
        case .name(let name): message.name = name
        case .time(let time): message.stamp[0] = time
        }
        let block = LogBlock([message])
        let set = try PreparedStatement(connection, ValueRow.set)
        try block.frames.withUnsafeReadableBytes { bytes in
            let body = UnsafeRawBufferPointer(rebasing: bytes[FrameHeader.size...])
            try ValueRow.set(change, to: Delivery(reading: body), body, with: set)
        }
    }

    @Test(arguments: forgeries)
    func `a check, a restore, a repair and a start treat a forged value as damage`(_ forgery: Forgery) async throws {
        try await makeLog(forgery)
        let findings = try FileCheck.run(path: folder.database).findings
        #expect(findings.values == 4 && findings.problems.map(\.part) == [.value], "\(findings.problems)")

        let other = try TemporaryFolder()
        #expect(throws: StoreError.self) {
            try Store.restore(BackupSource(path: folder.database), to: other.database)
        }

        let repair = try FileRepair.run(path: folder.database)
        #expect(repair.values == 4)
        #expect(try FileCheck.run(path: repair.newPath).findings.isSound)
        let repaired = try Store.open(path: repair.newPath)
        #expect(try await repaired.values().block.messages == others)
        #expect(repaired.recovered.values.forgottenThrough >= 5, "watchers read all values again")
        try repaired.close(nextSequence: 100)
    }

    @Test(arguments: forgeries, [false, true])
    func `a start reports a forged value or mark, and no page has it`(
        _ forgery: Forgery, isCleared: Bool
    ) async throws {
        try await makeLog(forgery, isCleared: isCleared)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.problem?.contains("values are lost (1)") == true)
        #expect(store.recovered.values.values.map(\.number) == [1, 2, 4, 5])
        #expect(store.recovered.values.lastNumber == 5)
        for selection in [PageRequest.Values.byNumber, .bySequence, .numbers([1, 2, 3, 4, 5])] {
            #expect(try await store.values(selection).block.messages == others)
        }
        let findings = await completion { store.checkLog(progress: { _ in }, completion: $0) }
        #expect(findings.values == 4 && findings.problems.map(\.part) == [.value], "\(findings.problems)")
        try store.close(nextSequence: 100)
    }

    @Test(arguments: [Forgery.number(Int64(end / 2) - 1), .time(UInt64(Int64.max))])
    func `the highest possible number and time are sound`(_ forgery: Forgery) async throws {
        try await makeLog(forgery)
        #expect(try FileCheck.run(path: folder.database).findings.isSound)
        let store = try Store.open(path: folder.database)
        #expect(store.recovered.problem == nil)
        let page = try await store.values()
        #expect(page.block.messages.map(\.name).sorted() == messages.map(\.name))
        try store.close(nextSequence: 100)
    }

    @Test func `a log that replaces a lost one does not count a value with a negative number as copied`() async throws {
        try await makeLog(.number(-3))
        let other = try TemporaryFolder()
        try Store.open(path: other.database).close(nextSequence: 1)
        func open(_ path: String) throws -> Log {
            let log = try Log(connection: Schema.open(path).connection, path: path, options: StoreOptions())
            try log.database.readState()
            return log
        }
        let (old, new) = (try open(folder.database), try open(other.database))
        defer {
            old.close()
            new.close()
        }
        #expect(try new.takeValues(of: old) == false)
    }
}

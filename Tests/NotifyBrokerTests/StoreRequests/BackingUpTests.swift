import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct BackingUpTests {
    private let host = TestHost()
    private let target = FileLocation(device: 2, inode: 3, name: "copy")

    /// The numbers of the backups that the store was asked to begin.
    private var begun: [UInt64] {
        host.backupWork.compactMap { if case .beginBackup = $0.work { $0.number } else { nil } }
    }

    private var endCount: Int { host.backupWork.count { if case .endBackup = $0.work { true } else { false } } }

    private func begin(_ client: Client) {
        client.send(BackupRequest(request: client.nextRequest(), target: target))
        host.run()
    }

    private func read(_ client: Client, from offset: UInt64) {
        client.send(BackupChunkRequest(request: client.nextRequest(), offset: offset))
        host.run()
    }

    private func made(_ number: UInt64, _ result: Result<UInt64, WireError>) {
        host.core.broker.stored(.backupMade(result), for: .backup(number), now: host.now)
        host.run()
    }

    private func chunkRead(_ number: UInt64, _ result: Result<ByteBuffer, WireError>) {
        host.core.broker.stored(.backupRead(result), for: .backup(number), now: host.now)
        host.run()
    }

    @Test func `a backup is read in chunks until its end`() throws {
        let root = host.connect(uid: 0)
        begin(root)
        guard case (.beginBackup(target), 1)? = host.backupWork.first else {
            Issue.record("no backup was begun")
            return
        }
        made(1, .success(10))
        #expect(root.take() == [.backupReady(BackupReady(request: 1, bytes: 10))])
        read(root, from: 4)
        guard case (.readBackup(4, BackupChunk.maximumBytes), 1)? = host.backupWork.last else {
            Issue.record("no chunk was read")
            return
        }
        let bytes = ByteBuffer(repeating: 7, count: 6)
        chunkRead(1, .success(bytes))
        #expect(root.take() == [.backupChunk(BackupChunk(request: 2, bytes: bytes))])
        read(root, from: 10)
        #expect(root.take() == [.backupChunk(BackupChunk(request: 3, bytes: ByteBuffer()))])
        #expect(endCount == 1)
        read(root, from: 0)
        #expect(root.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue])
    }

    @Test func `a chunk is not larger than a payload may be`() {
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 4096
        let host = TestHost(configuration)
        let root = host.connect(uid: 0)
        root.send(BackupRequest(request: root.nextRequest(), target: target))
        host.run()
        host.core.broker.stored(.backupMade(.success(10_000)), for: .backup(1), now: host.now)
        root.send(BackupChunkRequest(request: root.nextRequest(), offset: 0))
        host.run()
        guard case (.readBackup(0, 4096), 1)? = host.backupWork.last else {
            Issue.record("no chunk of 4096 bytes was read")
            return
        }
    }

    @Test func `a backup needs the right to manage everything`() {
        let client = host.connect(uid: 1000)
        begin(client)
        #expect(client.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        #expect(host.backupWork.isEmpty)
    }

    @Test func `a backup ends with its connection, and then the next one begins`() {
        let (first, second) = (host.connect(uid: 0), host.connect(uid: 0))
        begin(first)
        begin(second)
        #expect(second.take().isEmpty && begun == [1])
        read(second, from: 0)
        #expect(second.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue], "another client's backup")
        host.closed(first)
        host.run()
        #expect(endCount == 1)
        #expect(begun == [1, 2])
        // The outcomes of the ended backup are late.
        made(1, .failure(WireError(.storageFailed, "ended")))
        made(1, .success(99))
        chunkRead(1, .success(ByteBuffer(repeating: 1, count: 9)))
        #expect(second.take().isEmpty)
        made(2, .success(5))
        #expect(second.take() == [.backupReady(BackupReady(request: 1, bytes: 5))])
    }

    @Test func `a client that sends nothing more is answered before its connection and its backup end`() {
        let root = host.connect(uid: 0)
        begin(root)
        host.core.broker.inputEnded(root.id, now: host.now)
        host.run()
        #expect(!root.isClosed && endCount == 0)
        made(1, .success(10))
        #expect(root.take() == [.backupReady(BackupReady(request: 1, bytes: 10))])
        #expect(root.isClosed && endCount == 1)
    }

    @Test func `backups begin in the order of their requests, however the earlier ones end`() {
        let clients = (0..<4).map { _ in host.connect(uid: 0) }
        for client in clients { begin(client) }
        #expect(begun == [1])
        made(1, .success(10))
        read(clients[0], from: 10)
        #expect(begun == [1, 2])
        made(2, .failure(WireError(.logFull, "no room")))
        #expect(begun == [1, 2, 3])
        read(clients[2], from: BackupChunkRequest.end)
        #expect(begun == [1, 2, 3, 4] && endCount == 3)
        made(4, .success(5))
        #expect(clients[3].take() == [.backupReady(BackupReady(request: 1, bytes: 5))])
    }

    @Test func `a client that gives up its place or ends gets no turn`() {
        let clients = (0..<4).map { _ in host.connect(uid: 0) }
        for client in clients { begin(client) }
        begin(clients[1])
        #expect(clients[1].takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue], "one backup at a time")
        read(clients[1], from: BackupChunkRequest.end)
        guard case .error(let error)? = clients[1].take().first else {
            Issue.record("the waiting request was not refused")
            return
        }
        #expect(error.request == 1 && endCount == 0)
        host.closed(clients[2])
        host.run()
        made(1, .success(0))
        read(clients[0], from: 0)
        #expect(begun == [1, 2] && endCount == 1)
        made(2, .success(5))
        #expect(clients[3].take() == [.backupReady(BackupReady(request: 1, bytes: 5))])
    }

    @Test func `a client that has lost the right while it waited gets no turn`() {
        let (root, client, next) = (host.connect(uid: 0), host.connect(uid: 7), host.connect(uid: 0))
        let rule = AccessRule(.allow, [.manage], names: [">"], uids: [7])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: [rule]))
        for client in [root, client, next] { begin(client) }
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2))
        read(root, from: BackupChunkRequest.end)
        #expect(client.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        #expect(begun == [1, 2])
        made(2, .success(5))
        #expect(next.take() == [.backupReady(BackupReady(request: 1, bytes: 5))])
    }

    @Test func `requests that wait for a backup are refused when the daemon stops`() {
        let (first, second) = (host.connect(uid: 0), host.connect(uid: 0))
        begin(first)
        begin(second)
        host.core.broker.drainRequested()
        host.run()
        #expect(second.takeErrors().map(\.code) == [ErrorCode.closing.rawValue])
        host.closed(first)
        host.run()
        #expect(begun == [1])
    }

    @Test func `at most eight requests wait for a backup`() {
        let clients = (0..<10).map { _ in host.connect(uid: 0) }
        for client in clients { begin(client) }
        #expect(clients.dropLast().allSatisfy { $0.take().isEmpty })
        #expect(clients.last?.takeErrors().map(\.code) == [ErrorCode.limitReached.rawValue])
    }

    @Test func `a backup that is not read ends once another client waits for one`() {
        let (first, second) = (host.connect(uid: 0), host.connect(uid: 0))
        begin(first)
        made(1, .success(10))
        read(first, from: 0)
        // The time limit of the client does not run while the store copies or reads.
        host.advance(Backups.idleLimit)
        begin(second)
        chunkRead(1, .success(ByteBuffer(repeating: 7, count: 6)))
        host.advance(Backups.idleLimit - .milliseconds(1))
        #expect(second.take().isEmpty && begun == [1])
        host.advance(.milliseconds(1))
        _ = first.take()
        #expect(begun == [1, 2] && endCount == 1)
        read(first, from: 6)
        let refusals = first.takeErrors()
        #expect(refusals.map(\.code) == [ErrorCode.limitReached.rawValue])
        #expect(refusals.first?.message.contains("none of it was read for 30 s") == true)
        made(2, .success(5))
        #expect(second.take() == [.backupReady(BackupReady(request: 1, bytes: 5))])
        // The first client may begin another one later.
        read(second, from: 5)
        begin(first)
        #expect(begun == [1, 2, 3])
    }

    @Test func `a failed copy is refused with its reason, and ends the backup`() {
        let root = host.connect(uid: 0)
        begin(root)
        made(1, .failure(WireError(.logFull, "no room")))
        #expect(root.takeErrors().map(\.message) == ["no room"])
        #expect(endCount == 1)
        begin(root)
        #expect(begun == [1, 2])
    }

    @Test func `a chunk that can't be read ends the backup`() {
        let root = host.connect(uid: 0)
        begin(root)
        made(1, .success(10))
        read(root, from: 0)
        _ = root.take()
        chunkRead(1, .failure(WireError(.storageFailed, "no disk")))
        #expect(root.takeErrors().map(\.message) == ["no disk"])
        #expect(endCount == 1)
    }

    @Test func `one chunk can be requested at a time`() {
        let root = host.connect(uid: 0)
        begin(root)
        read(root, from: 0)
        #expect(root.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue], "the copy is not complete")
        made(1, .success(10))
        _ = root.take()
        read(root, from: 0)
        read(root, from: 5)
        #expect(root.takeErrors().map(\.code) == [ErrorCode.invalidArgument.rawValue])
        #expect(endCount == 0)
    }

    @Test(arguments: [false, true]) func `a client can end a backup that is not answered yet`(isCopied: Bool) {
        let root = host.connect(uid: 0)
        begin(root)
        if isCopied {
            made(1, .success(10))
            read(root, from: 0)
            _ = root.take()
        }
        read(root, from: BackupChunkRequest.end)
        let events = root.take()
        guard case .error(let error)? = events.first else {
            Issue.record("the waiting request was not refused: \(events)")
            return
        }
        #expect(error.request == (isCopied ? 2 : 1))
        #expect(
            Array(events.dropFirst()) == [.backupChunk(BackupChunk(request: isCopied ? 3 : 2, bytes: ByteBuffer()))])
        #expect(endCount == 1)
        made(1, .success(10))
        #expect(root.take().isEmpty)
        begin(root)
        #expect(begun == [1, 2])
    }

    @Test func `a client that loses the right can end its backup, but not read on`() {
        let client = host.connect(uid: 7)
        let rule = AccessRule(.allow, [.manage], names: [">"], uids: [7])
        host.core.broker.policyChanged(to: AccessPolicy(generation: 1, rules: [rule]))
        begin(client)
        made(1, .success(10))
        _ = client.take()
        host.core.broker.policyChanged(to: AccessPolicy(generation: 2))
        read(client, from: 0)
        #expect(client.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue])
        read(client, from: BackupChunkRequest.end)
        #expect(endCount == 1)
    }
}

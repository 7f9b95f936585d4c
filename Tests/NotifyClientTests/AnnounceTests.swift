import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Announced values through the public interface. The test acts as the daemon.
@Suite(.timeLimit(.minutes(25))) struct AnnounceTests {
    private typealias Client = NotificationClient

    private func announced(_ connection: FakeConnection) async throws -> String {
        let frame = try #require(try await connection.next())
        try #require(frame.kind == .announce)
        let (request, text) = try frame.withFrame { frame in
            let announce = try Announce(frame)
            let headers = try HeaderList.decode(announce.parts.headers).map { "\($0.key)=\($0.value)" }.joined()
            return (announce.request, "\(String(decoding: announce.parts.payload, as: UTF8.self)) \(headers)")
        }
        connection.send(Announced(request: request, sequence: 5, subscribers: 0))
        return text
    }

    @Test func `a value is announced, updated and withdrawn`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                async let announcement = client.announce("a.b", "up", object: "o", headers: ["k": "v"])
                let connection = try await daemon.accept()
                #expect(try await announced(connection) == "up k=v")
                let presence = try await announcement
                #expect(presence.name == "a.b" && presence.object == "o")
                async let update: Void = presence.update("busy")
                #expect(try await announced(connection) == "busy ")
                try await update
                async let withdrawn: Void = presence.withdraw(headers: ["exit-status": "3"])
                let withdraw: Withdraw = try await connection.expect()
                #expect(withdraw.name == "a.b" && withdraw.object == "o")
                #expect(withdraw.headers.withUnsafeBytes { HeaderList.value(of: "exit-status", in: $0) } == "3")
                connection.send(ValuesCleared(request: withdraw.request, count: 1, sequence: 6))
                try await withdrawn
                try await presence.withdraw()
                #expect(await presence.failure() == nil)
                await #expect(throws: NotifyError.self) { try await presence.update("late") }
            }
        }
    }

    @Test func `invalid announcements are refused without a request`() async throws {
        try await FakeDaemon.run { daemon in
            try await withNotificationClient(configuration: .test(daemon.path)) { client in
                func code(_ body: () async throws(NotifyError) -> Client.Announcement) async -> NotifyError.Code? {
                    do throws(NotifyError) { _ = try await body() } catch { return error.code }
                    return nil
                }
                #expect(await code { () throws(NotifyError) in try await client.announce("a..b", "") } == .invalidName)
                #expect(
                    await code { () throws(NotifyError) in
                        try await client.announce("a", "", grace: .seconds(601))
                    } == .invalidArgument)
                #expect(
                    await code { () throws(NotifyError) in
                        try await client.announce("a", "", will: Client.Will("x", headers: ["": ""]))
                    } == .invalidHeaders)
            }
        }
    }

    @Test func `a task that waits for the end of an announcement can be cancelled`() async throws {
        let end = AnnouncementEnd()
        let task = Task { await end.wait() }
        task.cancel()
        #expect(await task.value == nil)
        let second = Task { await end.wait() }
        end.end(NotifyError(.takenOver, "taken over"))
        end.end(nil)
        #expect(await second.value?.code == .takenOver)
        #expect(await end.wait()?.code == .takenOver)
    }

    @Test func `messages report whether they announce a value`() throws {
        let stamp = Stamp(sequence: 1, timeMicroseconds: 2, uid: 3, gid: 4, pid: 5)
        let headers = [UInt8]().withUnsafeBytes { EphemeralHeader.encoded(after: $0) }
        let announced = Client.Message(stamp, name: "a", object: "", headers: headers)
        #expect(announced.isEphemeral && announced.clearedReason == nil && announced.object == nil)
        let ended = Client.Message(stamp, name: "a", object: "o", headers: ClearedHeader.encoded(.disconnected))
        #expect(!ended.isEphemeral && ended.clearedReason == "disconnected" && ended.object == "o")
        #expect((ended.uid, ended.gid, ended.pid, ended.payload) == (3, 4, 5, []))
    }
}

import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Announcements in the client's machine: on each connection, and at its end.
struct ClientMachineAnnouncingTests {
    private struct Sent {
        let request: UInt64
        let text: String
        let takesOver: Bool
        let will: String?
        let grace: UInt32
    }

    private let harness: MachineHarness
    private let end = AnnouncementEnd()

    init() throws { harness = try MachineHarness.ready() }

    private func content(_ text: String, name: String = "a") throws -> AnnouncedContent {
        AnnouncedContent(
            message: try .init(name: name, payload: text.utf8, durability: .volatile),
            will: .init(headers: [], payload: Array("died".utf8)), grace: .seconds(2))
    }

    private func announce(
        _ text: String = "1", name: String = "a", takesOver: Bool = false, timeout: Duration? = nil
    ) throws -> (number: UInt32, slot: ReplySlot<Announced>) {
        let slot = ReplySlot<Announced>(timeout: timeout)
        let entry = AnnouncementRegistration(
            content: try content(text, name: name), takesOver: takesOver, end: end, openWaiter: slot)
        return (harness.process { [now = harness.now] in $0.announce(entry, now: now, &$1) }, slot)
    }

    private func update(_ number: UInt32, _ text: String) throws -> ReplySlot<Announced> {
        let (slot, content) = (ReplySlot<Announced>(), try content(text))
        harness.process { [now = harness.now] in $0.update(number, content, slot, now: now, &$1) }
        return slot
    }

    private func sent() throws -> [Sent] {
        try harness.read().filter { $0.kind == .announce }.map { frame in
            try frame.withFrame { frame in
                let announce = try Announce(frame)
                return Sent(
                    request: announce.request, text: String(decoding: announce.parts.payload, as: UTF8.self),
                    takesOver: announce.takesOver,
                    will: announce.will.map { String(decoding: $0.payload, as: UTF8.self) },
                    grace: announce.graceMilliseconds)
            }
        }
    }

    private func confirm(_ request: UInt64) {
        harness.receive { Announced(request: request, sequence: request + 100, subscribers: 0).write(to: &$0) }
    }

    private func refuse(_ request: UInt64, _ code: ErrorCode) {
        harness.receive { ErrorFrame(request: request, code: code, detail: 11, message: "no").write(to: &$0) }
    }

    @Test func `a client announces one value per name and object`() async throws {
        let first = try announce("1")
        let second = try announce("2")
        #expect(second.number == 0)
        let error = await #expect(throws: NotifyError.self) { try await second.slot.wait() }
        #expect(error?.code == .valueInUse && error?.detail == 0)
        #expect(try sent().map(\.text) == ["1"])
        harness.process { $0.withdrawAnnouncement(first.number, &$1) }
        #expect(try announce("3").number > 0)
        #expect(try sent().map(\.text) == ["3"])
    }

    @Test func `a value is announced again on the next connection, without taking it over`() async throws {
        let (_, slot) = try announce(takesOver: true)
        let first = try #require(try sent().first)
        #expect(first.text == "1" && first.takesOver && first.will == "died" && first.grace == 2_000)
        confirm(first.request)
        #expect(try await slot.wait().sequence == first.request + 100)
        try harness.reconnect()
        let second = try #require(try sent().first)
        #expect(second.text == "1" && !second.takesOver && second.will == "died")
        confirm(second.request)
        #expect(try harness.read().isEmpty)
    }

    @Test func `an unanswered first announcement is sent again`() async throws {
        let (_, slot) = try announce()
        _ = try sent()
        try harness.reconnect()
        confirm(try #require(try sent().first).request)
        #expect(await slot.code() == nil)
    }

    @Test func `without a connection, an announcement waits for one, until its time limit`() async throws {
        harness.disconnect()
        let (_, slot) = try announce()
        harness.advance(by: .seconds(1))
        try harness.connect()
        confirm(try #require(try sent().first).request)
        #expect(await slot.code() == nil)
        harness.disconnect()
        let (_, late) = try announce(name: "b")
        harness.advance(by: NotificationClient.Configuration.manual.connectionWait)
        #expect(await late.code() == .notConnected)
    }

    @Test func `a refused announcement is not sent again`() async throws {
        let (_, slot) = try announce()
        refuse(try #require(try sent().first).request, .valueInUse)
        let error = await #expect(throws: NotifyError.self) { try await slot.wait() }
        #expect(error?.code == .valueInUse && error?.detail == 11)
        try harness.reconnect()
        #expect(try sent().isEmpty)
    }

    @Test func `a value that is taken over, or refused after a lost connection, ends`() async throws {
        let first = try #require(
            {
                _ = try announce(); return try sent().first
            }())
        confirm(first.request)
        refuse(first.request, .takenOver)
        #expect(await end.wait()?.code == .takenOver)
        let other = AnnouncementEnd()
        let entry = AnnouncementRegistration(
            content: try content("x"), takesOver: false, end: other, openWaiter: ReplySlot<Announced>())
        _ = harness.process { [now = harness.now] in $0.announce(entry, now: now, &$1) }
        confirm(try #require(try sent().first).request)
        try harness.reconnect()
        refuse(try #require(try sent().first).request, .valueInUse)
        #expect(await other.wait()?.code == .valueInUse)
        try harness.reconnect()
        #expect(try sent().isEmpty)
    }

    @Test func `a refused update leaves the earlier content`() async throws {
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        let slot = try update(number, "2")
        refuse(try #require(try sent().first).request, .payloadTooLarge)
        #expect(await slot.code() == .payloadTooLarge)
        try harness.reconnect()
        #expect(try sent().map(\.text) == ["1"])
    }

    @Test func `after a refused update, the last accepted content is announced again`() async throws {
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        let (refused, accepted) = (try update(number, "2"), try update(number, "3"))
        let requests = try sent().map(\.request)
        refuse(requests[0], .payloadTooLarge)
        confirm(requests[1])
        #expect(await refused.code() == .payloadTooLarge)
        #expect(await accepted.code() == nil)
        try harness.reconnect()
        #expect(try sent().map(\.text) == ["3"])
    }

    @Test func `an update that is accepted after a takeover is withdrawn`() async throws {
        let (number, _) = try announce()
        let first = try #require(try sent().first)
        confirm(first.request)
        let slot = try update(number, "2")
        let second = try #require(try sent().first)
        refuse(first.request, .takenOver)
        confirm(second.request)
        #expect(await slot.code() == nil)
        let withdraw: Withdraw = try #require(try harness.read().first).read()
        #expect(withdraw.name == "a")
    }

    @Test func `a takeover after an update ends the announcement`() async throws {
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        _ = try update(number, "2")
        let second = try #require(try sent().first)
        confirm(second.request)
        refuse(second.request, .takenOver)
        #expect(await end.wait()?.code == .takenOver)
    }

    @Test func `a value and a will that do not fit into a frame are not sent`() async throws {
        let large = String(repeating: "x", count: 1_200_000)
        let (_, slot) = try announce(large)
        #expect(await slot.code() == .payloadTooLarge)
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        #expect(await (try update(number, large)).code() == .payloadTooLarge)
        #expect(try harness.read().isEmpty)
    }

    @Test func `an update without a connection, or with a lost one, is announced later`() async throws {
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        let lost = try update(number, "2")
        _ = try sent()
        harness.disconnect()
        #expect(await lost.code() == .outcomeUnknown)
        #expect(await (try update(number, "3")).code() == .notConnected)
        harness.advance(by: .seconds(1))
        try harness.connect()
        #expect(try sent().map(\.text) == ["3"])
        #expect(await (try update(number + 1, "x")).code() == .invalidArgument)
    }

    @Test func `an answer that does not arrive in time is an error`() async throws {
        let (number, slot) = try announce(timeout: .seconds(1))
        let first = try #require(try sent().first)
        harness.advance(by: .seconds(1))
        #expect(await slot.code() != nil)
        confirm(first.request)
        let late = try update(number, "2")
        _ = try sent()
        for _ in 0..<3 { harness.advance(by: NotificationClient.Configuration.manual.requestTimeout) }
        #expect(await late.code() == .outcomeUnknown)
    }

    @Test func `a waiting withdrawal is sent before the name is announced again`() async throws {
        let (number, _) = try announce()
        confirm(try #require(try sent().first).request)
        harness.disconnect()
        harness.process { $0.withdrawAnnouncement(number, &$1) }
        let withdrawn = harness.call(Withdraw(name: "a"))
        let (_, slot) = try announce("2")
        harness.advance(by: .seconds(1))
        try harness.connect()
        let frames = try harness.read()
        #expect(frames.map(\.kind) == [.withdraw, .announce])
        let withdraw: Withdraw = try #require(frames.first).read()
        harness.receive { ValuesCleared(request: withdraw.request, count: 0, sequence: 0).write(to: &$0) }
        confirm(withdraw.request + 1)
        #expect(try await withdrawn.wait().count == 0)
        #expect(await slot.code() == nil)
    }

    @Test func `the withdrawal of a cancelled announcement is not sent again on the next connection`() async throws {
        let (number, _) = try announce()
        _ = try sent()
        harness.process { $0.withdrawAnnouncement(number, &$1) }
        #expect(try harness.read().map(\.kind) == [.withdraw])
        _ = try announce("2")
        _ = try sent()
        harness.receive { Closing(lastRequest: 0).write(to: &$0) }
        try harness.reconnect()
        #expect(try harness.read().map(\.kind) == [.announce])
    }

    @Test func `a client that stops withdraws its values`() async throws {
        _ = try announce()
        confirm(try #require(try sent().first).request)
        harness.stop()
        let frames = try harness.read()
        let withdraw: Withdraw = try #require(frames.first { $0.kind == .withdraw }).read()
        #expect(withdraw.name == "a" && withdraw.object.isEmpty)
        #expect(await end.wait() == nil)
        let ping: Ping = try #require(frames.first { $0.kind == .ping }).read()
        harness.receive {
            ValuesCleared(request: withdraw.request, count: 1, sequence: 9).write(to: &$0)
            Pong(request: ping.request).write(to: &$0)
        }
        #expect(harness.channel == .close)
    }

    @Test func `a client that has stopped refuses announcements`() async throws {
        harness.stop()
        #expect(await (try announce()).slot.code() == .stopped)
    }
}

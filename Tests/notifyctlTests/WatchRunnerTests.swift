import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct WatchRunnerTests {
    private func runner(_ content: MessageFormat.Content, terminator: UInt8? = UInt8(ascii: "\n")) -> WatchRunner {
        WatchRunner(
            configuration: .init(), patterns: ["a.>"], object: nil, limit: nil, timeout: nil,
            format: MessageFormat(content: content, terminator: terminator))
    }

    private func cleared(
        _ reason: ClearedHeader.Reason, object: String = ""
    ) -> NotificationClient.ValueEvent {
        let stamp = Stamp(sequence: 7, timeMicroseconds: 0, uid: 0, gid: 0, pid: 0)
        return .cleared(.init(stamp, name: "a.b", object: object, headers: ClearedHeader.encoded(reason)))
    }

    private func text(_ event: NotificationClient.ValueEvent, _ runner: WatchRunner) -> String {
        var bytes: [UInt8] = []
        runner.append(event, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `a cleared value is printed as its name, its object and the reason`() {
        let runner = runner(.nameAndPayload)
        #expect(text(cleared(.cleared), runner) == "a.b cleared\n")
        #expect(text(cleared(.takenOver), runner) == "a.b takenOver\n")
        #expect(text(cleared(.disconnected, object: "db1"), runner) == "a.b db1 disconnected\n")
        #expect(text(cleared(.released, object: "o\u{1B}\n"), runner) == "a.b o\u{FFFD}\u{FFFD} released\n")
        #expect(text(cleared(.cleared), self.runner(.nameAndPayload, terminator: 0)) == "a.b cleared\0")
    }

    @Test func `a value is printed with its name, and marks only in JSON`() throws {
        let value = NotificationClient.ValueEvent.value(try .init(sequence: 7, name: "a.b", payload: Array("x".utf8)))
        #expect(text(value, runner(.nameAndPayload)) == "a.b x\n")
        let end = NotificationClient.ValueEvent.upToDate(.init(epoch: 1, sequence: 7))
        let marks = [end, .reset, .damaged(count: 1)]
        #expect(marks.map { text($0, runner(.nameAndPayload)) } == ["", "", ""])
        #expect(marks.map { text($0, runner(.json)) } == ["{\"up_to_date\":true}\n", "{\"reset\":true}\n", ""])
    }

    @Test func `a reset is reported on standard error, except in JSON`() throws {
        for content in [.nameAndPayload, .template(try FormatTemplate("{name}"))] as [MessageFormat.Content] {
            #expect(runner(content).notice(of: .reset)?.contains("all values follow again") == true)
        }
        #expect(runner(.json).notice(of: .reset) == nil)
        #expect(runner(.nameAndPayload).notice(of: cleared(.cleared)) == nil)
        #expect(runner(.nameAndPayload).notice(of: .upToDate(.init(epoch: 1, sequence: 7))) == nil)
    }

    @Test(arguments: [(1, "a value is damaged"), (2, "2 values are damaged")])
    func `damage is reported with what to do`(count: Int, text: String) {
        for content in [MessageFormat.Content.nameAndPayload, .json] {
            let notice = runner(content).notice(of: .damaged(count: count)) ?? ""
            #expect(notice.hasPrefix(text) && notice.contains("again") && notice.contains("'notifyctl check'"))
        }
    }
}

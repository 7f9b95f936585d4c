import Foundation
import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

/// The texts of `notifyctl durable list` and `durable show`.
@Suite struct DurableTextTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_065)

    /// The entry of a subscription with this number of pending messages; nil if the number is unknown.
    private func entry(pending: UInt64?) -> DurableEntry {
        var entry = DurableEntry(request: 1, uid: 0, cursor: 9, durableName: "billing", patterns: ["a"])
        entry.pending = pending.map {
            .init(messages: $0, bytes: $0 * 64, oldestMicroseconds: $0 > 0 ? 1_700_000_000_000_000 : 0)
        }
        return entry
    }

    private func cells(_ line: String) -> [Substring] { line.split(separator: " ") }

    @Test func `an unknown value is not shown as none`() {
        let subscriptions = [nil, 0, 1].map { entry(pending: $0) }
            .map { Administration.DurableSubscription($0) }
        let table = DurableListCommand.table(subscriptions, now: now)
        #expect(
            table.lines().dropFirst().map(cells) == [
                cells("billing root ? ? 0 0 0 a ? 9 - - -"), cells("billing root 0 - 0 0 0 a 0B 9 - - -"),
                cells("billing root 1 1m5s 0 0 0 a 64B 9 - - -"),
            ])
    }

    @Test func `the list and the details of a group have its members and settings`() {
        var entry = entry(pending: 1)
        (entry.sharing, entry.members, entry.waiting, entry.inFlight) = (.group, 3, 2, 7)
        let table = DurableListCommand.table([Administration.DurableSubscription(entry)], now: now)
        #expect(table.lines().dropFirst().map(cells) == [cells("billing root 1 1m5s 7 2 0 a 64B 9 - 3 -")])
        let details = Administration.DurableDetails(DurableDescription(entry, settings: .init(defaultsFor: .group)))
        let lines = DurableShowCommand.text(details, .exact, now: now).split(separator: "\n")
        for line in [
            "members        3", "in flight      7", "waiting        2", "withheld       0", "deadline       30s",
            "retry after    1s,10s,1m", "max deliveries 5", "max in flight  none",
        ] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
        #expect(
            DurableSetCommand.text(details.settings)
                == "--deadline 30s --retry-after 1s,10s,1m --max-deliveries 5 --in-flight 0")
        let json = DurableShowCommand.json(details, now: now)
        #expect(json.contains(#""sharing":"group","members":3,"in_flight":7,"waiting":2"#))
        #expect(json.contains(#""deadline_milliseconds":30000,"retry_delays_milliseconds":[1000,10000,60000]"#))
    }

    @Test func `messages that have no room as dead letters are reported`() {
        func details(needsRoom: Bool) -> Administration.DurableDetails {
            .init(
                DurableDescription(
                    entry(pending: 0), settings: .init(defaultsFor: .exclusive), needsRoom: needsRoom))
        }
        #expect(!DurableShowCommand.text(details(needsRoom: false), .exact, now: now).contains("no room"))
        let text = DurableShowCommand.text(details(needsRoom: true), .exact, now: now)
        #expect(text.contains("\nno room        messages that failed too often wait to become dead letters, "))
        let json = DurableShowCommand.json(details(needsRoom: true), now: now)
        #expect(json.contains(#","dead_letters_need_room":true,"#))
    }

    @Test func `a missing attachment is shown as never only if the creation is known`() {
        func line(created: UInt64, pid: UInt32 = 0) -> Substring? {
            var entry = entry(pending: 0)
            (entry.pid, entry.client) = (pid, pid == 0 ? 0 : 1)
            let description = DurableDescription(
                entry, settings: .init(defaultsFor: .exclusive), createdMicroseconds: created)
            return DurableShowCommand.text(Administration.DurableDetails(description), .exact, now: now).split(
                separator: "\n"
            )
            .first { $0.hasPrefix("last attached") }
        }
        #expect(line(created: 1_700_000_000_000_000) == "last attached  never")
        #expect(line(created: 1_700_000_000_000_000, pid: 7) == "last attached  ?")
        #expect(line(created: 0) == "last attached  ?")
    }

    @Test func `settings without a limit are none`() {
        let details = Administration.DurableDetails(
            DurableDescription(entry(pending: 0), settings: .init(defaultsFor: .exclusive)))
        let lines = DurableShowCommand.text(details, .exact, now: now).split(separator: "\n")
        for line in ["deadline       none", "max deliveries none", "max in flight  none"] {
            #expect(lines.contains(Substring(line)), "\(line)")
        }
    }

    @Test func `the description of a subscription has the number of pending messages, or '?' if unknown`() {
        func lines(_ entry: DurableEntry) -> [Substring] {
            let details = Administration.DurableDetails(
                DurableDescription(entry, settings: .init(defaultsFor: .exclusive)))
            return DurableShowCommand.text(details, .exact, now: now).split(separator: "\n")
        }
        #expect(lines(entry(pending: nil)).contains("pending        ?"))
        #expect(lines(entry(pending: nil)).contains("created        ?"))
        #expect(lines(entry(pending: 0)).contains("pending        messages: 0"))
        #expect(
            lines(entry(pending: 1)).contains("pending        messages: 1, 64B, the oldest posted 1m5s ago"))
    }
}

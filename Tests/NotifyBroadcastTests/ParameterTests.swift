import Foundation
import NotifyBroadcast
import TestSupport
import Testing

/// Forwarding of parameters, with various labels, names and types.
@Suite struct ParameterTests {
    private final class Taker: Parameters {
        let journal: Journal
        init(_ journal: Journal) { self.journal = journal }

        func count(receiver: inout Int, answers: Int) { receiver += answers }
        func unnamed(_ first: Int, in second: Int) { journal.note("\(first) \(second)") }
        func any<Item: Sendable, each Other>(_ item: Item, _ others: repeat each Other)
        where Item: CustomStringConvertible {
            journal.note(item.description)
            for other in repeat each others { journal.note("\(other)") }
        }
        func lazy(_ value: @autoclosure () -> Int, then body: () -> Void) {
            journal.note("\(value())")
            body()
        }
        func borrowed(_ text: borrowing String) { journal.note(copy text) }
        func `default`() { journal.note("default") }
        func moved(to place: Int) { journal.note("to \(place)") }
        func moved(by distance: Int) { journal.note("by \(distance)") }
        func moved(by distance: Double) { journal.note("by \(distance)") }
    }

    @Test func `parameters of all kinds are forwarded`() {
        let journal = Journal()
        let (one, two) = (Taker(journal), Taker(journal))
        let parameters = ParametersBroadcaster()
        parameters.register(one)
        var count = 1
        parameters.unnamed(1, in: 2)
        parameters.any(3, "x", 4.5)
        parameters.lazy(7) { journal.note("body") }
        parameters.borrowed("text")
        parameters.default()
        #expect(journal.take() == ["1 2", "3", "x", "4.5", "7", "body", "text", "default"])
        parameters.register(two)
        parameters.count(receiver: &count, answers: 2)
        #expect(count == 5)
    }

    @Test func `overloads are distinguished`() {
        let journal = Journal()
        let taker = Taker(journal)
        let parameters = ParametersBroadcaster()
        parameters.register(taker, for: [.movedTo, .movedBy2])
        parameters.moved(to: 1)
        parameters.moved(by: 2)
        parameters.moved(by: 2.5)
        #expect(journal.take() == ["to 1", "by 2.5"])
    }

    @Test func `keywords and the broadcaster's own identifiers can be parameter names`() throws {
        final class Taker: WordEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func `default`(in a: Int, `let` b: Int, `inout` c: Int, self d: Int) { journal.note("\([a, b, c, d])") }
            func `init`(call: Int, name: Int, name_: Int, encoder: Int, decoder: Int) {
                journal.note("\([call, name, name_, encoder, decoder])")
            }
            func name(receiver: Int, receivers: Int, failures: Int, error: Int) {
                journal.note("\([receiver, receivers, failures, error])")
            }
            func encode(to place: Int) { journal.note("to \(place)") }
            func generic(_ number: Int!) { journal.note("\(number ?? 0)") }
        }
        let journal = Journal()
        let taker = Taker(journal)
        let words = WordEventsBroadcaster()
        words.register(taker)
        let calls: [WordEventsCall] = [
            .default(in: 1, let: 2, `inout`: 3, self: 4),
            .`init`(call: 5, name: 6, name_: 7, encoder: 8, decoder: 9),
            .name(receiver: 1, receivers: 2, failures: 3, error: 4), .encode(to: 9), .generic(nil),
        ]
        let data = try JSONEncoder().encode(calls)
        for call in try JSONDecoder().decode([WordEventsCall].self, from: data) { try words.dispatch(call) }
        #expect(journal.take() == ["[1, 2, 3, 4]", "[5, 6, 7, 8, 9]", "[1, 2, 3, 4]", "to 9", "0"])
    }

    @available(*, deprecated) @Test func `deprecated requirements are forwarded without a warning`() {
        final class Old: OldEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func old() { journal.note("old") }
            func new(_ first: Int, second: [Int]) { journal.note("\(first) \(second)") }
        }
        let journal = Journal()
        let old = Old(journal)
        let events = OldEventsBroadcaster()
        events.register(old)
        events.old()
        events.older()
        events.new(1, second: [2])
        #expect(journal.take() == ["old", "1 [2]"])
    }
}

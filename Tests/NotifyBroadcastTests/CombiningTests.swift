import Foundation
import NotifyBroadcast
import Synchronization
import Testing

private final class Answerer: Questions {
    let name: String
    let journal: Journal
    let color: String?
    let failure: Failure?
    let stored = Mutex(1)
    let cells = Mutex<[Int: String]>([:])

    init(_ name: String, _ journal: Journal, color: String? = nil, failure: Failure? = nil) {
        self.name = name
        self.journal = journal
        self.color = color
        self.failure = failure
    }

    func titles() -> [String] { [name, name] }
    func color(of item: Int) -> String? {
        journal.note(name)
        return color
    }
    func height() -> Int { name.count }
    func mayClose() -> Bool { name != "no" }
    var total: Int { 2 }
    var level: Int {
        get { stored.withLock { $0 } }
        set { stored.withLock { $0 = newValue } }
    }
    subscript(row: Int, at column: Int) -> String? {
        get { cells.withLock { $0[row * 10 + column] } }
        set { cells.withLock { $0[row * 10 + column] = newValue } }
    }
    func failingTitles() throws -> [String] {
        journal.note(name)
        if let failure { throw failure }
        return [name]
    }
    func failingColor() throws -> String? {
        if let failure { throw failure }
        return color
    }
    func slowTitles() async throws -> [String] {
        await Task.yield()
        return try failingTitles()
    }
}

@Suite struct CombiningTests {
    private let journal = Journal()
    private let questions = QuestionsBroadcaster()

    private func register(_ receivers: Answerer...) -> [Answerer] {
        for receiver in receivers { questions.register(receiver) }
        return receivers
    }

    @Test func `without receivers the declared beginning is the result`() async throws {
        #expect(questions.titles() == [])
        #expect(questions.color(of: 1) == nil)
        #expect(questions.height() == 44)
        #expect(questions.mayClose())
        #expect(questions.total == 0)
        #expect(questions[1, at: 2] == nil)
        #expect(try await questions.slowTitles() == [])
    }

    @Test func `arrays are joined, and answers reduced, in order`() {
        let receivers = register(Answerer("a", journal), Answerer("no", journal))
        #expect(questions.titles() == ["a", "a", "no", "no"])
        #expect(questions.mayClose() == false)
        #expect(questions.total == 4)
        withExtendedLifetime(receivers) {}
    }

    @Test func `the first answer ends the asking`() {
        let receivers = register(
            Answerer("a", journal), Answerer("bb", journal, color: "red"), Answerer("c", journal, color: "blue"))
        #expect(questions.color(of: 3) == "red")
        #expect(journal.take() == ["a", "bb"])
        #expect(questions.height() == 1)
        withExtendedLifetime(receivers) {}
    }

    @Test func `what is set is set everywhere`() {
        let receivers = register(Answerer("a", journal), Answerer("b", journal))
        questions.level = 5
        questions[1, at: 2] = "x"
        #expect(receivers.map(\.level) == [5, 5])
        #expect(receivers.map { $0[1, at: 2] } == ["x", "x"])
        #expect(questions[1, at: 2] == "x")
    }

    @Test func `all are called before what was thrown is thrown`() async {
        let receivers = register(
            Answerer("a", journal, failure: Failure(name: "1")), Answerer("b", journal),
            Answerer("c", journal, failure: Failure(name: "2")))
        let failures = [Failure(name: "1"), Failure(name: "2")]
        let error = #expect(throws: BroadcastError.self) { try questions.failingTitles() }
        #expect(error?.errors.compactMap { $0 as? Failure } == failures)
        #expect(journal.take() == ["a", "b", "c"])
        let late = await #expect(throws: BroadcastError.self) { try await questions.slowTitles() }
        #expect(late?.errors.compactMap { $0 as? Failure } == failures)
        #expect(journal.take() == ["a", "b", "c"])
        withExtendedLifetime(receivers) {}
    }

    @Test func `of the first answer those that throw are not part, unless nobody answers`() throws {
        let failing = register(Answerer("a", journal, failure: Failure(name: "1")), Answerer("b", journal))
        #expect(throws: BroadcastError.self) { try questions.failingColor() }
        let answering = register(Answerer("c", journal, color: "red"))
        #expect(try questions.failingColor() == "red")
        withExtendedLifetime((failing, answering)) {}
    }
}

// MARK: - Parameters

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

    @Test func `parameters of all kinds are handed on`() {
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

    @Test func `overloads are told apart`() {
        let journal = Journal()
        let taker = Taker(journal)
        let parameters = ParametersBroadcaster()
        parameters.register(taker, for: [.movedTo, .movedBy2])
        parameters.moved(to: 1)
        parameters.moved(by: 2)
        parameters.moved(by: 2.5)
        #expect(journal.take() == ["to 1", "by 2.5"])
    }

    @Test func `words of the language and names of the broadcaster's own code are parameters as any`() throws {
        final class Taker: WordEvents {
            let journal: Journal
            init(_ journal: Journal) { self.journal = journal }
            func `default`(in a: Int, `let` b: Int, `inout` c: Int, self d: Int) { journal.note("\([a, b, c, d])") }
            func `init`(call: Int, name: Int, encoder: Int, decoder: Int) {
                journal.note("\([call, name, encoder, decoder])")
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
            .default(in: 1, let: 2, `inout`: 3, self: 4), .`init`(call: 5, name: 6, encoder: 7, decoder: 8),
            .name(receiver: 1, receivers: 2, failures: 3, error: 4), .encode(to: 9), .generic(nil),
        ]
        let data = try JSONEncoder().encode(calls)
        for call in try JSONDecoder().decode([WordEventsCall].self, from: data) { try words.dispatch(call) }
        #expect(journal.take() == ["[1, 2, 3, 4]", "[5, 6, 7, 8]", "[1, 2, 3, 4]", "to 9", "0"])
    }

    @available(*, deprecated) @Test func `what is deprecated is handed on without a warning`() {
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

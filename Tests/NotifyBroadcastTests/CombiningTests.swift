import NotifyBroadcast
import Synchronization
import TestSupport
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

    @Test func `without receivers, a call returns the default result of its rule`() async throws {
        #expect(questions.titles() == [])
        #expect(questions.color(of: 1) == nil)
        #expect(questions.height() == 44)
        #expect(questions.mayClose())
        #expect(questions.total == 0)
        #expect(questions[1, at: 2] == nil)
        #expect(try await questions.slowTitles() == [])
    }

    @Test func `arrays are joined and results reduced in order`() {
        let receivers = register(Answerer("a", journal), Answerer("no", journal))
        #expect(questions.titles() == ["a", "a", "no", "no"])
        #expect(questions.mayClose() == false)
        #expect(questions.total == 4)
        withExtendedLifetime(receivers) {}
    }

    @Test func `the first result ends the call`() {
        let receivers = register(
            Answerer("a", journal), Answerer("bb", journal, color: "red"), Answerer("c", journal, color: "blue"))
        #expect(questions.color(of: 3) == "red")
        #expect(journal.take() == ["a", "bb"])
        #expect(questions.height() == 1)
        withExtendedLifetime(receivers) {}
    }

    @Test func `properties and subscripts are set on every receiver`() {
        let receivers = register(Answerer("a", journal), Answerer("b", journal))
        questions.level = 5
        questions[1, at: 2] = "x"
        #expect(receivers.map(\.level) == [5, 5])
        #expect(receivers.map { $0[1, at: 2] } == ["x", "x"])
        #expect(questions[1, at: 2] == "x")
    }

    @Test func `all receivers are called before collected errors are thrown`() async {
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

    @Test func `the first result is returned although other receivers throw`() throws {
        let failing = register(Answerer("a", journal, failure: Failure(name: "1")), Answerer("b", journal))
        #expect(throws: BroadcastError.self) { try questions.failingColor() }
        let answering = register(Answerer("c", journal, color: "red"))
        #expect(try questions.failingColor() == "red")
        withExtendedLifetime((failing, answering)) {}
    }
}

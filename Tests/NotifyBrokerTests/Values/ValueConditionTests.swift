import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Values that are set or cleared only if the present one has the expected sequence.
struct ValueConditionTests {
    let host = TestHost()

    private func code(_ error: ErrorFrame?) -> ErrorCode? { error.flatMap { ErrorCode(rawValue: $0.code) } }

    @Test func `sequence 0 expects that there is no value`() throws {
        let client = host.connect()
        let first = client.setValue("a", "1", ifSequence: 0)
        host.run()
        let receipt = try #require(ValueAnswers(client).receipts[first])
        let second = client.setValue("a", "2", ifSequence: 0)
        host.run()
        let error = ValueAnswers(client).errors[second]
        #expect(code(error) == .valueChanged && error?.detail == receipt.sequence)
        client.clear("a", object: "")
        host.run()
        let third = client.setValue("a", "3", ifSequence: 0)
        host.run()
        #expect(ValueAnswers(client).receipts[third] != nil)
        #expect(host.values("a").map(\.payload) == ["3"])
    }

    @Test func `a refused change is not posted`() throws {
        let client = host.connect()
        client.subscribe(1, [">"])
        client.setValue("a", "1", ifSequence: 7)
        client.clear("a", object: "", ifSequence: 7)
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.errors.values.map(\.detail) == [0, 0])
        #expect(answers.messages.isEmpty && host.store.messages.isEmpty)
    }

    @Test func `of two posts in one batch that expect the same sequence, one is refused`() throws {
        let (first, second) = (host.connect(), host.connect(uid: 2000))
        let winner = first.setValue("a", "1", ifSequence: 0)
        let loser = second.setValue("a", "2", ifSequence: 0)
        host.tick()
        #expect(ValueAnswers(second).errors.isEmpty, "the refusal waits for the commit")
        host.run()
        let receipt = try #require(ValueAnswers(first).receipts[winner])
        let error = ValueAnswers(second).errors[loser]
        #expect(code(error) == .valueChanged && error?.detail == receipt.sequence)
        #expect(host.values("a") == [ReadValue("a", "1")])
    }

    @Test func `a chain of changes in one batch is possible`() throws {
        let client = host.connect()
        client.setValue("a", "1", ifSequence: 0)
        let sequence = host.lastSequence
        client.setValue("a", "2", ifSequence: sequence)
        let cleared = client.clear("a", object: "", ifSequence: host.lastSequence)
        let last = client.setValue("a", "4", ifSequence: 0)
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.errors.isEmpty && answers.cleared[cleared]?.count == 1 && answers.receipts[last] != nil)
        #expect(host.values("a") == [ReadValue("a", "4")])
    }

    @Test func `a refusal that rests on a batch that fails reports the failure instead`() {
        let client = host.connect()
        client.setValue("a", "1", ifSequence: 0)
        let loser = client.setValue("a", "2", ifSequence: 0)
        host.tick()
        host.work(failingWith: .broken)
        host.runTicks()
        #expect(code(ValueAnswers(client).errors[loser]) == .storageFailed)
    }

    @Test func `changes of the next batch that depend on one that fails are refused, and others stay`() {
        let client = host.connect()
        client.setValue("a", "1", ifSequence: 0)
        client.setValue("b", "1")
        host.tick()
        let first = host.lastSequence - 1
        // The first batch is in flight. These are in the next one.
        let dependent = client.setValue("a", "2", ifSequence: first)
        let chained = client.setValue("a", "3", ifSequence: host.lastSequence)
        let cleared = client.clear("b", object: "", ifSequence: first + 1)
        let independent = client.setValue("c", "4", ifSequence: 0)
        let posted = client.post("d", .stored)
        host.work(failingWith: .broken)
        host.runTicks()
        host.advance(.seconds(1))
        host.run()
        let answers = ValueAnswers(client)
        #expect(code(answers.errors[dependent]) == .storageFailed && code(answers.errors[chained]) == .storageFailed)
        #expect(answers.receipts[independent] != nil && answers.receipts[posted] != nil)
        #expect(answers.cleared[cleared] == nil)
        #expect(host.values(">") == [ReadValue("c", "4")])
        let names = host.store.messages.map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == ["c", "d"], "withdrawn messages are not stored")
        #expect(host.core.broker.ledger.stored.usage(of: 1000).messages == 2)
    }

    @Test func `a change without a condition survives the failure of the batch before`() {
        let client = host.connect()
        client.setValue("a", "1", ifSequence: 0)
        host.tick()
        let dependent = client.setValue("a", "2", ifSequence: host.lastSequence)
        let free = client.setValue("a", "3")
        let chained = client.setValue("a", "4", ifSequence: host.lastSequence)
        host.work(failingWith: .broken)
        host.runTicks()
        host.advance(.seconds(1))
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.errors[dependent] != nil && answers.receipts[free] != nil && answers.receipts[chained] != nil)
        #expect(host.values("a") == [ReadValue("a", "4")])
    }
}

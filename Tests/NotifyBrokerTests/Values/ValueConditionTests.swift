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

    @Test func `if the next batch depends on one that fails, it fails as a whole`() {
        let client = host.connect()
        client.subscribe(1, [">"], durable: "d")
        host.run()
        client.setValue("a", "1", ifSequence: 0)
        host.tick()
        // The first batch is in flight. These are in the next one.
        let dependent = client.setValue("a", "2", ifSequence: host.lastSequence)
        let independent = client.setValue("c", "4", ifSequence: 0)
        let posted = client.post("d", .stored)
        host.tick()
        let late = client.setValue("e", "5")
        host.work(failingWith: .broken)
        host.runTicks()
        host.advance(.seconds(1))
        host.run()
        let answers = ValueAnswers(client)
        for request in [dependent, independent, posted, late] {
            #expect(code(answers.errors[request]) == .storageFailed)
        }
        #expect(answers.messages.isEmpty && host.store.messages.isEmpty && host.values(">").isEmpty)
        #expect(host.core.broker.ledger.stored.usage(of: 1000).messages == 0)
        for resource in [Ledger.Resource.values, .valueBytes, .pendingBytes] {
            #expect(host.amount(of: resource, 1000) == 0)
        }
        // Later batches work again, and readers miss nothing.
        let after = client.setValue("a", "6", ifSequence: 0)
        host.run()
        let last = ValueAnswers(client)
        #expect(last.receipts[after] != nil && last.messages.map(\.content) == [ReadValue("a", "6")])
    }

    @Test func `a batch that does not depend on the one before survives its failure`() {
        let client = host.connect()
        client.setValue("a", "1", ifSequence: 0)
        host.tick()
        let free = client.setValue("a", "3")
        let other = client.setValue("b", "4", ifSequence: 0)
        host.work(failingWith: .broken)
        host.runTicks()
        host.advance(.seconds(1))
        host.run()
        let answers = ValueAnswers(client)
        #expect(answers.receipts[free] != nil && answers.receipts[other] != nil)
        #expect(host.values(">").map(\.payload) == ["3", "4"])
    }

    @Test func `an answer about a value that is not committed fails with its batch`() {
        let client = host.connect()
        client.setValue("a", "1")
        host.run()
        client.clear("a", object: "")
        host.tick()
        let nothing = client.clear("a", object: "")
        let refused = client.setValue("a", "2", ifSequence: 1)
        host.work(failingWith: .broken)
        host.runTicks()
        let answers = ValueAnswers(client)
        #expect(code(answers.errors[nothing]) == .storageFailed && code(answers.errors[refused]) == .storageFailed)
        #expect(host.amount(of: .values, 1000) == 1)
    }

    @Test func `requests that wait for a commit are limited`() {
        var configuration = BrokerConfiguration()
        configuration.postWindow = 4
        let host = TestHost(configuration)
        let client = host.connect()
        client.setValue("a", "1")
        host.tick()
        let requests = (0..<6).map { _ in client.setValue("a", "2", ifSequence: 9) }
        host.run()
        let errors = ValueAnswers(client).errors
        #expect(requests.prefix(4).allSatisfy { code(errors[$0]) == .valueChanged })
        #expect(requests.suffix(2).allSatisfy { code(errors[$0]) == .limitReached })
    }
}

import NotifyWire
import TestSupport
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The history of each value is linearizable, over commits that fail, ends of connections, and crashes that lose the
/// batch in the store or only its receipts.
struct ValueHistoryTests {
    private static let keys = ["a", "b"]

    private struct Outstanding {
        let key: String
        let request: ValueOperation.Request
        let invoked: UInt64

        var isChange: Bool { if case .get = request { false } else { true } }
    }

    private final class Member {
        let client: Client
        var outstanding: [UInt64: Outstanding] = [:]

        init(_ client: Client) { self.client = client }
    }

    private final class Run {
        let store = FakeStore()
        let history = History<String, ValueOperation>()
        var host: TestHost
        var instance: UInt64 = 1
        var random: SeededGenerator
        var members: [Member] = []
        /// The requests whose connections have ended. The daemon may have received them.
        var abandoned: [Outstanding] = []
        /// The last known sequence of each value, as one of the clients has learned it.
        var known: [String: UInt64] = [:]
        var lastContent = 0
        var (wins, refusals, failures, crashes) = (0, 0, 0, 0)

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            host = TestHost(store: store)
            members = (0..<4).map { _ in Member(host.connect(uid: 1000)) }
        }

        func step() {
            let index = Int.random(in: members.indices, using: &random)
            switch Int.random(in: 0..<100, using: &random) {
            case ..<55: request(members[index])
            case ..<62:
                // After a failure, the broker refuses posts until it has tried the store again.
                host.work(failingWith: .broken)
                host.runTicks()
                if random.chance(70) { host.advance(.seconds(1)) }
            case ..<65:
                // What the client has received before the end is valid.
                receive(members[index])
                abandoned += members[index].outstanding.values
                host.closed(members[index].client)
                members[index] = Member(host.connect(uid: 1000))
            case ..<68: crash()
            case ..<78: host.tick()
            case ..<88: host.work()
            default: host.run()
            }
            for member in members { receive(member) }
        }

        private func request(_ member: Member) {
            guard member.outstanding.count < 3, let key = keys.randomElement(using: &random) else { return }
            let request = nextRequest(key)
            let outstanding = Outstanding(key: key, request: request, invoked: history.now())
            let number =
                switch request {
                case .set(let content, let expected): member.client.setValue(key, content, ifSequence: expected)
                case .clear(let expected): member.client.clear(key, object: "", ifSequence: expected)
                case .get: member.client.readValues(key, object: "", maximum: 1)
                }
            member.outstanding[number] = outstanding
        }

        private func nextRequest(_ key: String) -> ValueOperation.Request {
            var expected: UInt64?
            if random.chance(65) {
                expected = known[key] ?? 0
                // The sequence of a change that may not be committed.
                if random.chance(25) { expected = host.lastSequence }
            }
            switch Int.random(in: 0..<100, using: &random) {
            case ..<55:
                lastContent += 1
                return .set("\(lastContent)", ifSequence: expected)
            case ..<75: return .clear(ifSequence: expected)
            default: return .get
            }
        }

        /// Kills the daemon. The batch in the store is committed or lost.
        private func crash() {
            crashes += 1
            if random.chance(50) { _ = store.perform() }
            instance += 1
            host = TestHost(store: store, instance: InstanceID(high: instance, low: 0))
            abandoned += members.flatMap(\.outstanding.values)
            // Nothing of the old daemon can take effect any more.
            for request in abandoned where request.isChange {
                history.record(
                    ValueOperation(uncertain: request.request), on: request.key, invoked: request.invoked,
                    isCertain: false)
            }
            abandoned = []
            members = members.map { _ in Member(host.connect(uid: 1000)) }
        }

        private func receive(_ member: Member) {
            let answers = ValueAnswers(member.client)
            for (number, receipt) in answers.receipts {
                finish(member, number, .changed(sequence: receipt.sequence))
            }
            for (number, cleared) in answers.cleared {
                finish(member, number, cleared.count == 0 ? .noValue : .changed(sequence: cleared.sequence))
            }
            for (number, page) in answers.pages {
                finish(member, number, page.values.first.map { .value($0.payload, sequence: $0.sequence) } ?? .noValue)
            }
            for (number, error) in answers.errors {
                switch ErrorCode(rawValue: error.code) {
                case .valueChanged: finish(member, number, .refused(current: error.detail))
                case .storageFailed:
                    // The change was taken back.
                    member.outstanding[number] = nil
                    failures += 1
                default: Issue.record("unexpected: \(error)")
                }
            }
        }

        private func finish(_ member: Member, _ number: UInt64, _ result: ValueOperation.Result) {
            guard let done = member.outstanding.removeValue(forKey: number) else {
                Issue.record("an answer to request \(number), which is not outstanding")
                return
            }
            history.record(ValueOperation(done.request, result), on: done.key, invoked: done.invoked)
            switch result {
            case .changed(let sequence):
                if case .set = done.request { known[done.key] = sequence } else { known[done.key] = 0 }
                wins += 1
            case .value(_, let sequence): known[done.key] = sequence
            case .refused(let current):
                known[done.key] = current
                refusals += 1
            case .noValue: known[done.key] = 0
            }
        }

        func finish() {
            host.advance(.seconds(1))
            host.run()
            for member in members { receive(member) }
            #expect(members.allSatisfy { $0.outstanding.isEmpty }, "a request has no answer")
            for request in abandoned where request.isChange {
                history.recordPending(
                    ValueOperation(uncertain: request.request), on: request.key, invoked: request.invoked)
            }
        }
    }

    @Test(arguments: (1...10) + Seeds.new(90, for: "ValueHistoryTests"))
    func `the history of every value is linearizable`(_ seed: UInt64) {
        let run = Run(seed: seed)
        for _ in 0..<400 { run.step() }
        run.finish()
        #expect(run.history.violations(of: ValueModel()).isEmpty)
    }

    @Test func `the random runs reach successes, refusals, failures and crashes`() {
        var (wins, refusals, failures, crashes) = (0, 0, 0, 0)
        for seed in 1...10 {
            let run = Run(seed: UInt64(seed))
            for _ in 0..<400 { run.step() }
            wins += run.wins
            refusals += run.refusals
            failures += run.failures
            crashes += run.crashes
        }
        #expect(wins > 200 && refusals > 200 && failures > 50 && crashes > 50)
    }
}

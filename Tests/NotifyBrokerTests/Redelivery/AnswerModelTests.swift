import NotifyLog
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Random members of a group, with answers of every kind. The number of failures of a message is exact here, because
/// the store never fails and nothing crashes. `Simulation` knows only bounds of this number.
struct AnswerModelTests {
    private final class Run {
        var random: SeededGenerator
        let host = TestHost()
        var model: AnswerModel
        var members: [Int: Client] = [:]
        private var nextMember = 1
        private let poster: Client
        private let settings: DurableSettingChanges

        init(seed: UInt64) {
            var random = SeededGenerator(seed: seed)
            let deadline = Duration.milliseconds(10 * Int.random(in: 10...60, using: &random))
            let deliveries = UInt32.random(in: 0...4, using: &random)
            let delays = (0...Int.random(in: 0...2, using: &random)).map { _ in
                10_000 * UInt64.random(in: 0...30, using: &random)
            }
            settings = DurableSettingChanges(
                deadlineMicroseconds: UInt64(deadline / .microseconds(1)), retryDelays: delays,
                maximumDeliveries: deliveries,
                maximumInFlight: random.chance(30) ? .random(in: 1...12, using: &random) : 0)
            model = AnswerModel(deadline: deadline, maximumDeliveries: deliveries)
            poster = host.connect()
            self.random = random
            join()
        }

        // MARK: Members

        func join() {
            let client = host.connect()
            client.subscribe(
                1, ["jobs.>"], durable: "jobs", window: .random(in: 1...8, using: &random), sharing: .group,
                settings: settings)
            members[nextMember] = client
            nextMember += 1
            settle()
        }

        private func leave(_ member: Int) {
            guard let client = members.removeValue(forKey: member) else { return }
            let died = random.chance(50)
            model.ended(member, died: died)
            if died { host.closed(client) } else { client.detach(1) }
        }

        // MARK: Steps

        func step() {
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4: post()
            case 4..<8: answer()
            case 8..<11: reject()
            case 11: extend()
            case 12: acknowledgeAll()
            case 13: acknowledgeLate()
            case 14: rejectLate()
            case 15 where members.count < 5: join()
            case 16 where random.chance(60): members.keys.sorted().randomElement(using: &random).map(leave)
            default: host.advance(.milliseconds(10 * Int.random(in: 1...20, using: &random)))
            }
            settle()
        }

        /// Completes the work of broker and store, and compares the results.
        func settle() {
            model.timePassed(now: host.now.monotonic)
            host.run()
            for (member, client) in members.sorted(by: { $0.key < $1.key }) {
                for message in client.takeMessages() { model.delivered(message, to: member, now: host.now.monotonic) }
            }
            model.read(host.store)
            guard let durable = host.durable("jobs") else { return }
            model.check(durable, host.store.copies[durable.id] ?? [:])
        }

        private func post() {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                poster.post("jobs.a")
                model.messages[host.lastSequence] = AnswerModel.Message()
            }
        }

        private func choose(_ messages: (Int) -> [UInt64]) -> (member: Int, client: Client, sequence: UInt64)? {
            let candidates = members.filter { !messages($0.key).isEmpty }.sorted { $0.key < $1.key }
            guard let (member, client) = candidates.randomElement(using: &random),
                let sequence = messages(member).randomElement(using: &random)
            else { return nil }
            return (member, client, sequence)
        }

        private func answer() {
            guard let (member, client, sequence) = choose(model.held(by:)) else { return }
            client.acknowledge(1, sequence...sequence)
            model.acknowledged([sequence], by: member)
        }

        private func acknowledgeAll() {
            guard let (member, client, sequence) = choose(model.held(by:)) else { return }
            client.acknowledge(1, 0...sequence)
            model.acknowledged(model.messages.keys.filter { $0 <= sequence }, by: member)
        }

        private func acknowledgeLate() {
            guard let (member, client, sequence) = choose(model.late(of:)) else { return }
            client.acknowledge(1, sequence...sequence)
            model.acknowledged([sequence], by: member)
        }

        private func reject() {
            guard let (member, client, sequence) = choose(model.held(by:)) else { return }
            let outcomes: [Reject.Outcome] = [.failed, .failed, .failed, .returned, .returned, .dead]
            let outcome = outcomes.randomElement(using: &random) ?? .failed
            client.reject(1, sequence, outcome, delay: random.chance(50) ? .zero : nil)
            model.rejected(sequence, outcome, by: member)
        }

        private func rejectLate() {
            guard let (member, client, sequence) = choose(model.late(of:)) else { return }
            client.reject(1, sequence, .dead)
            model.rejected(sequence, .dead, by: member)
        }

        private func extend() {
            guard let (member, client, _) = choose(model.held(by:)) else { return }
            let sequences = model.messages.keys.filter { $0 % 3 == 0 }.sorted()
            let span = Duration.milliseconds(10 * Int.random(in: 0...80, using: &random))
            client.send(
                Extend(subscription: 1, sequences: sequences, microseconds: UInt64(span / .microseconds(1))))
            model.extended(
                sequences, by: member,
                to: host.now.monotonic + (span == .zero ? model.deadline : max(span, .milliseconds(100))))
        }

        /// Acknowledges all delivered messages until none is left.
        func finish() {
            if members.isEmpty { join() }
            for _ in 0..<1_000 {
                for (member, client) in members {
                    for sequence in model.held(by: member) {
                        client.acknowledge(1, sequence...sequence)
                        model.acknowledged([sequence], by: member)
                    }
                }
                host.advance(.milliseconds(60))
                settle()
                if model.messages.allSatisfy({ $0.value.isAcknowledged || model.letters[$0.key] != nil }) { break }
            }
            model.checkFinished()
            host.advance(.milliseconds(60))
            settle()
        }
    }

    @Test func `each message is acknowledged or becomes a dead letter, and its deliveries are counted`() {
        let first = UInt64.random(in: 0...UInt64(UInt32.max))
        print("AnswerModelTests: seeds from \(first)")
        let all: Set<String> = [
            "acknowledged", "late", "rescued", "failed", "returned", "dead", "late dead", "expired", "extended", "died",
            "detached",
        ]
        var happened: Set<String> = []
        for seed in first..<first + 100 where seed < first + 15 || happened != all {
            let run = Run(seed: seed)
            for _ in 0..<300 where run.model.violations.isEmpty { run.step() }
            if run.model.violations.isEmpty { run.finish() }
            #expect(run.model.violations.isEmpty, "seed \(seed)")
            #expect(run.host.store.copies.values.allSatisfy { $0.isEmpty }, "seed \(seed)")
            #expect(run.host.durable("jobs")?.redeliveryCount == 0, "seed \(seed)")
            #expect(run.host.durable("jobs")?.unacknowledged == 0, "seed \(seed)")
            happened.formUnion(run.model.happened.keys)
            guard run.model.violations.isEmpty else { return }
        }
        #expect(happened == all, "not every kind of answer occurred")
    }
}

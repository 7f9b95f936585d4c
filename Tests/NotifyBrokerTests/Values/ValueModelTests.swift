import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Random clients that set, clear, announce and watch values, over commits that fail, ends of connections, restarts and
/// lost power, against what is promised: the accepted changes of each name form one chain, and no watch of the client
/// library misses a value, goes back in time, shows what was not committed, or lacks the mark after its first values.
struct ValueModelTests {
    private static let names = ["a", "b", "c.x", "c.y"]
    private static let objects = ["", "o"]

    /// A change that a client has requested.
    private struct Change {
        let key: String
        /// The payload; nil to clear the value.
        let payload: String?
        let ifSequence: UInt64?
    }

    /// An announced value, as its owner knows it.
    private struct Announced {
        let owner: ConnectionID
        let request: UInt64
        let sequence: UInt64
        let hasGrace: Bool
        var isAbsent = false
    }

    private final class Member {
        let client: Client
        let watch: ModelWatch
        var changes: [UInt64: Change] = [:]
        /// The requests to announce or withdraw a value.
        var announcements: [UInt64: (key: String, payload: String?, hasGrace: Bool)] = [:]

        init(_ client: Client, _ watch: ModelWatch) {
            self.client = client
            self.watch = watch
        }
    }

    private final class Model {
        let store = FakeStore()
        var host: TestHost
        var instance: UInt64 = 1
        var random: SeededGenerator
        var members: [Member] = []
        /// The confirmed changes of each name and object, by sequence.
        var confirmed: [String: [UInt64: Change]] = [:]
        /// The payloads of changes that were refused for certain.
        var refused: Set<String> = []
        var announced: [String: Announced] = [:]
        var (lastPayload, conflicts, inUse) = (0, 0, 0)

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            store.valuesPerPage = Int.random(in: 1...5, using: &random)
            store.valueRowsPerPage = Int.random(in: 1...8, using: &random)
            host = TestHost(store: store, instance: InstanceID(high: instance, low: 0))
        }

        func step() throws {
            if members.count < 3 {
                members.append(Member(host.connect(uid: 1000), try ModelWatch(log: store)))
                return
            }
            let index = Int.random(in: members.indices, using: &random)
            let member = members[index]
            switch Int.random(in: 0..<120, using: &random) {
            case 100..<115: announce(member)
            case 115...: withdraw(member)
            case ..<40: change(member, payload: nextPayload())
            case ..<55: change(member, payload: nil)
            case ..<75: read(member)
            case ..<80:
                host.work(failingWith: .broken)
                host.runTicks()
                host.advance(.seconds(1))
            case ..<84:
                host.closed(member.client)
                for (key, value) in announced where value.owner == member.client.id {
                    if value.hasGrace { announced[key]?.isAbsent = true } else { announced[key] = nil }
                }
                members[index] = try reconnected(member)
            case ..<86: try restart()
            case ..<87: host.advance(.seconds(90_000))
            case ..<93: host.tick()
            default: host.run()
            }
            for member in members { receive(member) }
        }

        private func nextPayload() -> String {
            lastPayload += 1
            return "\(lastPayload)"
        }

        private func announce(_ member: Member) {
            let (name, object, key) = nextKey()
            let hasGrace = random.chance(30)
            let payload = nextPayload()
            let request = member.client.announce(
                name, object: object, payload, grace: hasGrace ? .seconds(10) : .zero, takesOver: random.chance(40))
            member.announcements[request] = (key, payload, hasGrace)
        }

        private func withdraw(_ member: Member) {
            let (name, object, key) = nextKey()
            member.announcements[member.client.withdraw(name, object: object)] = (key, nil, false)
        }

        private func nextKey() -> (name: String, object: String, key: String) {
            let name = names.randomElement(using: &random) ?? "a"
            let object = objects.randomElement(using: &random) ?? ""
            return (name, object, "\(name)/\(object)")
        }

        private func change(_ member: Member, payload: String?) {
            let (name, object, key) = nextKey()
            var condition: UInt64?
            if random.chance(60) {
                condition = member.watch.state[key].map { $0.payload == nil ? 0 : $0.sequence } ?? 0
                if random.chance(30) { condition = host.lastSequence }
            }
            let request =
                payload.map { member.client.setValue(name, object: object, $0, ifSequence: condition) }
                ?? member.client.clear(name, object: object, ifSequence: condition)
            member.changes[request] = Change(key: key, payload: payload, ifSequence: condition)
        }

        private func read(_ member: Member) {
            member.watch.read(member.client, maximum: UInt32.random(in: 1...4, using: &random))
        }

        /// Kills the daemon. The batch in the store is committed or lost.
        private func restart() throws {
            if random.chance(50) { _ = store.perform() }
            instance += 1
            host = TestHost(store: store, instance: InstanceID(high: instance, low: 0))
            announced = [:]
            members = try members.map { member in try reconnected(member) }
        }

        /// Continues the watch on another connection, perhaps as another program with the position of the watch.
        private func reconnected(_ member: Member) throws -> Member {
            member.watch.connectionEnded()
            if random.chance(30) { try member.watch.continueFromPosition() }
            return Member(host.connect(uid: 1000), member.watch)
        }

        // MARK: Receiving

        private func receive(_ member: Member) {
            let answers = ValueAnswers(member.client)
            for (request, receipt) in answers.receipts { confirm(member, request, receipt.sequence) }
            for (request, cleared) in answers.cleared where cleared.count > 0 {
                confirm(member, request, cleared.sequence)
            }
            for (request, answer) in answers.announced {
                guard let (key, _, hasGrace) = member.announcements[request] else { continue }
                if let known = announced[key], known.sequence > answer.sequence { continue }
                announced[key] = Announced(
                    owner: member.client.id, request: request, sequence: answer.sequence, hasGrace: hasGrace)
            }
            for (request, cleared) in answers.cleared {
                guard let (key, _, _) = member.announcements[request], let known = announced[key] else { continue }
                if known.owner == member.client.id, known.sequence < cleared.sequence { announced[key] = nil }
            }
            for (request, error) in answers.errors {
                if let (key, payload, _) = member.announcements[request] {
                    if error.code != ErrorCode.takenOver.rawValue {
                        if let payload { refused.insert(payload) }
                    } else if announced[key]?.owner == member.client.id, announced[key]?.request == request {
                        announced[key] = nil
                    }
                }
                if error.code == ErrorCode.valueInUse.rawValue { inUse += 1 }
                member.watch.refused(request)
                guard let change = member.changes.removeValue(forKey: request) else { continue }
                if let payload = change.payload { refused.insert(payload) }
                guard error.code == ErrorCode.valueChanged.rawValue else { continue }
                conflicts += 1
                #expect(error.detail != change.ifSequence, "a refusal agrees with the condition")
                if error.detail > 0 {
                    #expect(
                        store.hasMessage(error.detail, change.key), "the refusal names a sequence that is not committed"
                    )
                }
            }
            member.watch.receive(answers)
        }

        private func confirm(_ member: Member, _ request: UInt64, _ sequence: UInt64) {
            guard let change = member.changes.removeValue(forKey: request) else { return }
            #expect(store.hasMessage(sequence, change.key), "a confirmed change is not in the log")
            confirmed[change.key, default: [:]][sequence] = change
        }

        // MARK: The end

        func finish() {
            // Ends the grace periods.
            host.advance(.seconds(11))
            host.run()
            announced = announced.filter { !$0.value.isAbsent }
            for member in members { receive(member) }
            for member in members {
                receive(member)
                for _ in 0..<200 {
                    read(member)
                    host.run()
                    receive(member)
                    // A request that waits has nothing more to read.
                    if member.watch.isReading { break }
                }
                #expect(member.watch.isReading, "a watch reads the same again and again")
                #expect(member.watch.isMarked, "a watch has no mark after its values")
                #expect(member.watch.shown.isDisjoint(with: refused), "a watch shows a refused change")
                compare(member.watch)
            }
            checkChains()
        }

        private func compare(_ watch: ModelWatch) {
            var stored: [String: UInt64] = [:]
            for value in store.values.values where !value.isCleared {
                stored[value.message.key] = value.message.sequence
            }
            for (key, value) in announced {
                #expect(stored[key] == nil, "a value is stored and announced")
                stored[key] = value.sequence
            }
            #expect(watch.values.mapValues(\.sequence) == stored, "a watch misses the last state")
        }

        /// Each message in the log whose condition was confirmed follows the message with that sequence.
        private func checkChains() {
            for (key, changes) in confirmed {
                let all = store.messages.filter { $0.key == key }
                for (sequence, change) in changes {
                    guard let expected = change.ifSequence else { continue }
                    let before = all.last { $0.sequence < sequence }
                    let isCleared = before.map { $0.isClear } ?? true
                    #expect(
                        expected == (isCleared ? 0 : before?.sequence),
                        "\(key) \(sequence) was set although its condition was not met")
                }
            }
        }
    }

    @Test(arguments: (1...10) + Seeds.new(50, for: "ValueModelTests"))
    func `values keep their promises in any order of events`(_ seed: UInt64) throws {
        let model = Model(seed: seed)
        for _ in 0..<300 { try model.step() }
        model.finish()
    }

    @Test func `the random runs reach conflicts, resets, and every way of a watch`() throws {
        var (conflicts, inUse) = (0, 0)
        var counts = ModelWatch.Counts()
        for seed in 1...20 {
            let model = Model(seed: UInt64(seed))
            for _ in 0..<300 { try model.step() }
            conflicts += model.conflicts
            inUse += model.inUse
            for member in model.members { counts.add(member.watch.counts) }
        }
        #expect(conflicts > 20 && inUse > 20)
        #expect(counts.resets > 0 && counts.announcedResets > 0 && counts.marks > 20, "\(counts)")
        #expect(counts.continuations > 20 && counts.readsBehind > 0, "\(counts)")
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire
import TestSupport
import Testing
import WireTestSupport

@testable import NotifyBroker

/// Random clients that set, clear, announce and watch values, over commits that fail, ends of connections, restarts and
/// lost power, against what is promised: the accepted changes of each name form one chain, no watch goes back in time,
/// shows what was not committed, ends its first values without saying so, or misses the last state.
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

    private struct State {
        let sequence: UInt64
        /// Nil if the value is cleared.
        var payload: String?
        let isEphemeral: Bool
        let isReadByKey: Bool
    }

    private final class Watch {
        var (request, after, changesAfter): (UInt64, UInt64, UInt64) = (0, 0, 0)
        var (through, announcedAfter, run): (UInt64, UInt64, UInt64) = (.max, 0, 0)
        var isReadingKeys = true
        /// The state of each name and object.
        var state: [String: State] = [:]
        var ends = 0

        func reset() {
            (after, through, changesAfter, isReadingKeys) = (0, .max, 0, true)
            (announcedAfter, run, state) = (0, 0, [:])
        }

        func announcedReset() {
            for key in state.keys where state[key]?.isEphemeral == true { state[key]?.payload = nil }
            announcedAfter = 0
            if isReadingKeys {
                guard after >= ReadValues.lastStoredKey else { return }
            } else {
                changesAfter = after
            }
            (after, through, isReadingKeys) = (ReadValues.lastStoredKey, .max, true)
        }
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
        var watch: Watch
        var changes: [UInt64: Change] = [:]
        /// The requests to announce or withdraw a value.
        var announcements: [UInt64: (key: String, hasGrace: Bool)] = [:]

        init(_ client: Client, _ watch: Watch) {
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
        var (lastPayload, resets, announcedResets, conflicts, ends, inUse) = (0, 0, 0, 0, 0, 0)

        init(seed: UInt64) {
            random = SeededGenerator(seed: seed)
            store.valuesPerPage = Int.random(in: 1...5, using: &random)
            host = TestHost(store: store)
        }

        func step() {
            if members.count < 3 {
                members.append(Member(host.connect(uid: 1000), Watch()))
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
                // The watch continues on another connection.
                members[index] = Member(host.connect(uid: 1000), member.watch)
                member.watch.request = 0
            case ..<86: restart()
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
            let request = member.client.announce(
                name, object: object, nextPayload(), grace: hasGrace ? .seconds(10) : .zero,
                takesOver: random.chance(40))
            member.announcements[request] = (key, hasGrace)
        }

        private func withdraw(_ member: Member) {
            let (name, object, key) = nextKey()
            member.announcements[member.client.withdraw(name, object: object)] = (key, false)
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
            let watch = member.watch
            guard watch.request == 0 else { return }
            let order: ReadValues.Order =
                watch.isReadingKeys
                ? .keys(after: watch.after, through: watch.through)
                : .changes(
                    after: watch.after, announcedAfter: watch.announcedAfter, isWaiting: random.chance(50))
            watch.request = member.client.readValues(
                ">", order: order, run: watch.run, maximum: UInt32.random(in: 1...4, using: &random))
        }

        /// Kills the daemon. The batch in the store is committed or lost.
        private func restart() {
            if random.chance(50) { _ = store.perform() }
            instance += 1
            host = TestHost(store: store, instance: InstanceID(high: instance, low: 0))
            announced = [:]
            members = members.map { member in
                member.watch.request = 0
                return Member(host.connect(uid: 1000), member.watch)
            }
        }

        // MARK: Receiving

        private func receive(_ member: Member) {
            let answers = ValueAnswers(member.client)
            for (request, receipt) in answers.receipts { confirm(member, request, receipt.sequence) }
            for (request, cleared) in answers.cleared where cleared.count > 0 {
                confirm(member, request, cleared.sequence)
            }
            for (request, answer) in answers.announced {
                guard let (key, hasGrace) = member.announcements[request] else { continue }
                if let known = announced[key], known.sequence > answer.sequence { continue }
                announced[key] = Announced(
                    owner: member.client.id, request: request, sequence: answer.sequence, hasGrace: hasGrace)
            }
            for (request, cleared) in answers.cleared {
                guard let (key, _) = member.announcements[request], let known = announced[key] else { continue }
                if known.owner == member.client.id, known.sequence < cleared.sequence { announced[key] = nil }
            }
            for (request, error) in answers.errors {
                if let (key, _) = member.announcements[request], error.code == ErrorCode.takenOver.rawValue,
                    announced[key]?.owner == member.client.id, announced[key]?.request == request
                {
                    announced[key] = nil
                }
                if error.code == ErrorCode.valueInUse.rawValue { inUse += 1 }
                if request == member.watch.request { member.watch.request = 0 }
                guard let change = member.changes.removeValue(forKey: request) else { continue }
                if let payload = change.payload { refused.insert(payload) }
                guard error.code == ErrorCode.valueChanged.rawValue else { continue }
                conflicts += 1
                #expect(error.detail != change.ifSequence, "a refusal agrees with the condition")
                if error.detail > 0 {
                    #expect(isCommitted(error.detail, change.key), "the refusal names a sequence that is not committed")
                }
            }
            if let (page, values) = answers.pages[member.watch.request] { receive(page, values, member.watch) }
        }

        private func isCommitted(_ sequence: UInt64, _ key: String) -> Bool {
            store.messages.contains { $0.sequence == sequence && $0.key == key }
        }

        private func confirm(_ member: Member, _ request: UInt64, _ sequence: UInt64) {
            guard let change = member.changes.removeValue(forKey: request) else { return }
            #expect(isCommitted(sequence, change.key), "a confirmed change is not in the log")
            confirmed[change.key, default: [:]][sequence] = change
        }

        private func receive(_ page: ValuePage, _ values: [ReadValue], _ watch: Watch) {
            watch.request = 0
            if page.isReset {
                resets += 1
                return watch.reset()
            }
            let isSameRun = watch.run == 0 || watch.run == page.run
            watch.run = page.run
            if page.isAnnouncedReset || !isSameRun {
                announcedResets += 1
                return watch.announcedReset()
            }
            for value in values {
                let key = "\(value.name)/\(value.object)"
                let isStored = !value.isEphemeral && (value.cleared == nil || value.cleared == "cleared")
                #expect(!isStored || isCommitted(value.sequence, key), "a watch shows what is not committed")
                #expect(!refused.contains(value.payload), "a watch shows a refused change")
                if let known = watch.state[key], known.isEphemeral, known.isReadByKey, isStored, value.cleared != nil,
                    value.sequence < known.sequence
                {
                    // The clear of the stored value before an announced one that was read by key.
                    continue
                }
                if let known = watch.state[key] {
                    #expect(value.sequence >= known.sequence, "a watch goes back in time")
                }
                #expect(!watch.isReadingKeys || value.cleared == nil, "a mark is shown as a value")
                watch.state[key] = State(
                    sequence: value.sequence, payload: value.cleared == nil ? value.payload : nil,
                    isEphemeral: value.isEphemeral, isReadByKey: watch.isReadingKeys)
            }
            guard watch.isReadingKeys else {
                (watch.after, watch.announcedAfter) = (page.through, page.announcedThrough)
                return
            }
            if watch.after == 0 { watch.changesAfter = page.committedThrough }
            if watch.through == .max { watch.announcedAfter = page.announcedThrough }
            watch.after = page.through
            guard page.isEnd else {
                if watch.through == .max { watch.through = page.lastKey }
                return
            }
            guard watch.through > ReadValues.lastStoredKey else {
                (watch.after, watch.through) = (ReadValues.lastStoredKey, .max)
                return
            }
            (watch.isReadingKeys, watch.after) = (false, watch.changesAfter)
            watch.ends += 1
            ends += 1
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
                    if member.watch.request != 0 { break }
                }
                #expect(member.watch.ends > 0, "a watch has no end mark")
                compare(member.watch)
            }
            checkChains()
        }

        private func compare(_ watch: Watch) {
            var stored: [String: UInt64] = [:]
            for value in store.values.values where !value.isCleared {
                stored[value.message.key] = value.message.sequence
            }
            for (key, value) in announced {
                #expect(stored[key] == nil, "a value is stored and announced")
                stored[key] = value.sequence
            }
            let seen = watch.state.filter { $0.value.payload != nil }.mapValues(\.sequence)
            #expect(seen == stored, "a watch misses the last state")
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
    func `values keep their promises in any order of events`(_ seed: UInt64) {
        let model = Model(seed: seed)
        for _ in 0..<300 { model.step() }
        model.finish()
        #expect(model.ends > 0)
    }

    @Test func `the random runs reach conflicts and resets`() {
        var (conflicts, resets, announcedResets, inUse) = (0, 0, 0, 0)
        for seed in 1...20 {
            let model = Model(seed: UInt64(seed))
            for _ in 0..<300 { model.step() }
            conflicts += model.conflicts
            resets += model.resets
            announcedResets += model.announcedResets
            inUse += model.inUse
        }
        #expect(conflicts > 20 && resets > 0 && announcedResets > 0 && inUse > 20)
    }
}

extension FakeStore.Message {
    fileprivate var key: String {
        "\(String(decoding: name, as: UTF8.self))/\(String(decoding: object, as: UTF8.self))"
    }

    fileprivate var isClear: Bool {
        frame.withUnsafeBytes { bytes in
            let delivery = try? Delivery(reading: bytes.slice(from: FrameHeader.size))
            return delivery.flatMap { ClearedHeader.reason(in: $0.parts.headers) } != nil
        }
    }
}

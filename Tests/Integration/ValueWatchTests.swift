import Foundation
import NotifyClient
import TestSupport
import Testing

extension IntegrationTests {
    /// Watches of the client library, while several clients change values and the daemon is killed.
    @Suite struct ValueWatchTests {
        private static let kills = 4
        private static let writers = 6
        private static let names = 50

        private let daemon: Daemon
        private let journal = Watched(ValueWriting())

        init() async throws {
            daemon = try await Daemon.start()
        }

        private var configuration: NotificationClient.Configuration {
            var configuration = daemon.patientConfiguration
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            return configuration
        }

        @Test func `after kills, watches of any speed have shown the last state, each value in its order`() async throws
        {
            let seed =
                ProcessInfo.processInfo.environment["WATCH_SEED"].flatMap { UInt64($0) } ?? .random(in: .min ... .max)
            print("value watches: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let slow = ValueView(["load.>"], pause: .milliseconds(20))
            var views = [
                slow, ValueView(["load.>"]), ValueView(["load.>"], pause: .milliseconds(1)),
                ValueView(["load.kept.*"], pause: .milliseconds(5)),
                ValueView(["load.cleared.1", "load.cleared.7", "load.kept.2"]),
                ValueView(["load.>"], eventsOfProgram: 200),
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                for view in views { group.addTask { await watch(view) } }
                for _ in 0..<Self.writers {
                    let seed = random.next()
                    group.addTask { await write(seed) }
                }
                for _ in 0..<Self.kills {
                    try await waitForChanges(Int.random(in: 50...800, using: &random), ahead: 100, of: slow)
                    try await daemon.kill()
                    let confirmed = journal.current.confirmed
                    try await daemon.start()
                    expectPresent(confirmed, in: try await values(["load.>"]))
                    let view = ValueView(["load.>"])
                    views.append(view)
                    group.addTask { await watch(view) }
                    let shown = try await view.state.wait("the mark of a new watch") { state in
                        state.isMarked || !state.problems.isEmpty ? state.values : nil
                    }
                    expectPresent(confirmed, in: shown)
                }
                journal.update { $0.isEnding = true }
                _ = try await journal.wait("the end of the writers") { $0.ended == Self.writers ? true : nil }
                for view in views {
                    let expected = try await values(view.patterns)
                    let state = try await view.state.wait("the last state in a watch") { state in
                        (state.values == expected && state.isMarked) || !state.problems.isEmpty ? state : nil
                    }
                    #expect(state.values == expected)
                    #expect(state.problems.isEmpty)
                    print("value watches: \(view.patterns) paused \(view.pause): \(state.events) events")
                }
                group.cancelAll()
            }
            let changes = journal.current
            print("value watches: \(changes)")
            #expect(changes.problems.isEmpty)
            #expect(changes.overwritten.isEmpty, "a change with a condition replaces another value")
        }

        /// Waits until the writers have received this number of receipts, and a slow watch has missed many of them.
        private func waitForChanges(_ count: Int, ahead: UInt64, of view: ValueView) async throws {
            let end = journal.current.receipts + count
            _ = try await journal.wait("changes") { changes in
                let isAhead = changes.lastSequence > view.state.current.lastSequence + ahead
                return changes.receipts >= end && isAhead || !changes.problems.isEmpty ? true : nil
            }
        }

        /// The values that match, with their sequences.
        private func values(_ patterns: [String]) async throws -> [String: ShownValue] {
            try await withNotificationClient(configuration: configuration) { client in
                var found: [String: ShownValue] = [:]
                for try await value in try client.values(matching: patterns) { found[value.key] = ShownValue(value) }
                return found
            }
        }

        /// Expects that no value with a receipt is missing or older, unless a client has begun to clear it since.
        private func expectPresent(_ confirmed: [String: ValueWriting.Confirmed], in found: [String: ShownValue]) {
            let clears = journal.current.clears
            for (key, value) in confirmed where clears[key, default: 0] == value.clears {
                #expect(found[key].map { $0.sequence >= value.sequence } == true, "\(key) is lost")
            }
        }

        // MARK: Watching

        /// Shows events until the task is cancelled.
        private func watch(_ view: ValueView) async {
            do {
                try await withNotificationClient(configuration: configuration) { client in
                    var isContinued = true
                    while isContinued {
                        isContinued = try await watch(view, client)
                        view.state.update { $0.programEnded() }
                    }
                }
            } catch {
                view.state.update { $0.problems.append("the watch has failed: \(error)") }
            }
            guard !Task.isCancelled else { return }
            view.state.update { $0.problems.append("the watch has ended") }
        }

        /// Shows events until the task is cancelled, or as many as one program reads.
        ///
        /// - Returns: Whether another program continues.
        private func watch(_ view: ValueView, _ client: NotificationClient) async throws -> Bool {
            var events = 0
            for try await event in try client.watch(view.patterns, from: view.state.current.position) {
                view.state.update { $0.show(event) }
                if view.pause > .zero { try? await Task.sleep(for: view.pause) }
                events += 1
                if events >= view.eventsOfProgram, view.state.current.position != nil { return true }
            }
            return false
        }

        // MARK: Writing

        /// Changes values until the test ends.
        private func write(_ seed: UInt64) async {
            var random = SeededGenerator(seed: seed)
            var number = 0
            do {
                try await withNotificationClient(configuration: configuration) { client in
                    while !journal.current.isEnding {
                        number += 1
                        let padding = String(repeating: "x", count: Int.random(in: 0...12_000, using: &random))
                        let change = Change(
                            name: Int.random(in: 0..<Self.names, using: &random),
                            payload: "\(seed) \(number) \(padding)",
                            isClear: random.chance(20), isConditional: random.chance(30))
                        try await ignoringRefusals { try await make(change, client) }
                    }
                }
            } catch {
                journal.update { $0.problems.append("a writer has failed: \(error)") }
            }
            journal.update { $0.ended += 1 }
        }

        private struct Change {
            let name: String
            let object: String?
            let key: String
            let payload: String
            let isClear: Bool
            let isConditional: Bool

            init(name number: Int, payload: String, isClear: Bool, isConditional: Bool) {
                let isKept = number % 2 == 0
                name = isKept ? "load.kept.\(number)" : "load.cleared.\(number)"
                object = number % 5 == 0 ? "o" : nil
                key = "\(name)/\(object ?? "")"
                self.payload = payload
                self.isClear = isClear && !isKept
                self.isConditional = isConditional
            }
        }

        /// Makes a change, and notes its outcome.
        private func make(_ change: Change, _ client: NotificationClient) async throws {
            var condition: UInt64?
            if change.isConditional {
                condition = try await client.value(of: change.name, object: change.object)?.sequence ?? 0
            }
            if change.isClear {
                journal.update { $0.clearBegins(change.key) }
                defer { journal.update { $0.clearEnded(change.key) } }
                try await client.clear(change.name, object: change.object, ifSequence: condition)
            } else {
                let clears = journal.current.clearsIfNone(change.key)
                let receipt = try await client.setValue(
                    change.payload, for: change.name, object: change.object, ifSequence: condition)
                journal.update { $0.confirm(change.key, receipt.sequence, after: condition, clears: clears) }
            }
        }

        /// Ignores the errors that kills and other writers cause.
        private func ignoringRefusals(_ body: () async throws -> Void) async throws {
            do {
                try await body()
            } catch let error as NotifyError {
                guard error.code == .outcomeUnknown || error.code == .valueChanged else { throw error }
            }
        }
    }
}

/// A value as a watch or a client has read it.
private struct ShownValue: Equatable, Sendable {
    let sequence: UInt64
    /// The beginning of the payload, which no other value has.
    let text: String

    init(_ message: NotificationClient.Message) {
        sequence = message.sequence
        text = String((message.text ?? "").prefix(40))
    }
}

extension NotificationClient.Message {
    fileprivate var key: String { "\(name)/\(object ?? "")" }
}

/// A watch, and what it has shown.
private final class ValueView: Sendable {
    struct State: Sendable, CustomStringConvertible {
        private(set) var values: [String: ShownValue] = [:]
        private(set) var isMarked = false
        /// The position of the mark, with which another program can continue.
        private(set) var position: NotificationClient.ValuePosition?
        private(set) var lastSequence: UInt64 = 0
        private(set) var events = 0
        var problems: [String] = []
        /// Whether changes are shown again that another program has shown.
        private var isRepeating = false
        /// The sequence of the last event of each key.
        private var sequences: [String: UInt64] = [:]

        var description: String { "\(values.count) values after \(events) events, \(problems)" }

        mutating func show(_ event: NotificationClient.ValueEvent) {
            events += 1
            switch event {
            case .value(let message):
                moved(to: message)
                values[message.key] = ShownValue(message)
            case .cleared(let message):
                moved(to: message)
                values[message.key] = nil
            case .upToDate(let mark):
                if isMarked { problems.append("a second mark") }
                (isMarked, isRepeating, position) = (true, false, mark)
            // No clear is forgotten during the test, so every position remains known.
            case .reset, .damaged: problems.append("\(event)")
            }
        }

        private mutating func moved(to message: NotificationClient.Message) {
            let (key, sequence) = (message.key, message.sequence)
            if let last = sequences.updateValue(sequence, forKey: key),
                last > sequence || (last == sequence && !isRepeating)
            {
                problems.append("\(key) goes from \(last) to \(sequence)")
            }
            lastSequence = sequence
        }

        /// Another program continues at the position. The changes since are shown again.
        mutating func programEnded() { (isMarked, isRepeating) = (false, true) }
    }

    let patterns: [String]
    /// The pause after each event.
    let pause: Duration
    /// The number of events after which another program continues the watch.
    let eventsOfProgram: Int
    let state = Watched(State())

    init(_ patterns: [String], pause: Duration = .zero, eventsOfProgram: Int = .max) {
        self.patterns = patterns
        self.pause = pause
        self.eventsOfProgram = eventsOfProgram
    }
}

/// What the writers know.
private struct ValueWriting: Sendable, CustomStringConvertible {
    struct Confirmed: Sendable {
        let sequence: UInt64
        /// The number of clears of this value that had begun, all before the change.
        let clears: Int
    }

    /// The last change of each value with a receipt, unless it might have been cleared.
    private(set) var confirmed: [String: Confirmed] = [:]
    /// The number of clears that have begun.
    private(set) var clears: [String: Int] = [:]
    private var clearing: [String: Int] = [:]
    /// The sequences with a receipt.
    private var sequences: [String: [UInt64]] = [:]
    /// The changes with a condition, and the sequences that they have replaced.
    private var replacements: [(key: String, old: UInt64, new: UInt64)] = []
    private(set) var (receipts, lastSequence): (Int, UInt64) = (0, 0)
    var isEnding = false
    /// The number of writers that have ended.
    var ended = 0
    var problems: [String] = []

    var description: String {
        "\(receipts) receipts, \(replacements.count) with a condition, \(clears.values.reduce(0, +)) clears, \(problems)"
    }

    mutating func clearBegins(_ key: String) {
        clears[key, default: 0] += 1
        clearing[key, default: 0] += 1
    }

    mutating func clearEnded(_ key: String) { clearing[key, default: 0] -= 1 }

    /// The number of clears that have begun, if all of them have ended.
    func clearsIfNone(_ key: String) -> Int? { clearing[key, default: 0] == 0 ? clears[key, default: 0] : nil }

    mutating func confirm(_ key: String, _ sequence: UInt64, after condition: UInt64?, clears before: Int?) {
        receipts += 1
        lastSequence = max(lastSequence, sequence)
        sequences[key, default: []].append(sequence)
        if let condition, condition > 0 { replacements.append((key, condition, sequence)) }
        guard let before, before == clears[key, default: 0] else { return }
        guard confirmed[key].map({ $0.sequence < sequence }) ?? true else { return }
        confirmed[key] = Confirmed(sequence: sequence, clears: before)
    }

    /// The changes with a condition that followed a change other than the one in their condition.
    var overwritten: [String] {
        replacements.compactMap { key, old, new in
            let between = sequences[key, default: []].first { $0 > old && $0 < new }
            return between.map { "\(key): \(new) replaces \($0), not \(old)" }
        }
    }
}

import NotifyClient
import Synchronization
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The history of each value is linearizable while the daemon is killed repeatedly.
    @Suite struct ValueHistoryTests {
        private static let clients = 8
        private static let kills = 30
        /// The maximum number of operations between two kills.
        private static let operations = 800
        private static let keys = ["history.a", "history.b", "history.c"]

        /// The load of all clients.
        private final class Load: Sendable {
            let history = History<String, ValueOperation>()
            /// The number of operations that have ended.
            let ended = Watched(0)
            let isStopped = Atomic(false)
            let uncertain = Atomic(0)
            let refusals = Atomic(0)

            func end() { isStopped.store(true, ordering: .releasing) }
        }

        @Test func `compare-and-set is linearizable over kills of the daemon`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("history of values: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            let load = Load()
            var configuration = daemon.patientConfiguration
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            try await withThrowingTaskGroup(of: Void.self) { group in
                defer { load.end() }
                for number in 0..<Self.clients {
                    let seed = random.next()
                    group.addTask { [configuration] in
                        try await withNotificationClient(configuration: configuration) { client in
                            var member = Member(number: number, seed: seed)
                            while !load.isStopped.load(ordering: .acquiring) { try await member.step(client, load) }
                        }
                    }
                }
                for kill in 0...Self.kills {
                    var abandoned: [Abandoned] = []
                    for number in 0..<3 {
                        abandoned.append(try .send(daemon, load, "abandoned \(kill) \(number)", &random))
                        let end = load.ended.current + Int.random(in: 1...Self.operations / 3, using: &random)
                        _ = try await load.ended.wait("\(end) operations") { $0 >= end ? true : nil }
                    }
                    guard kill < Self.kills else {
                        for change in abandoned { change.record(load, mayFollow: true) }
                        break
                    }
                    try await daemon.kill()
                    for change in abandoned { change.record(load, mayFollow: false) }
                    try await daemon.start()
                }
                load.end()
                try await group.waitForAll()
            }
            let operations = load.history.operations.values.joined()
            print(
                "history of values: \(load.ended.current) operations, of which "
                    + "\(load.uncertain.load(ordering: .relaxed)) have an unknown outcome and "
                    + "\(load.refusals.load(ordering: .relaxed)) were refused")
            #expect(load.history.violations(of: ValueModel()).isEmpty, "seed \(seed)")
            #expect(load.refusals.load(ordering: .relaxed) > 0)
            let receipts = operations.compactMap { $0.operation.receipt }
            #expect(Set(receipts).count == receipts.count, "a sequence was given twice; seed \(seed)")
            #expect(try await daemon.stop() == .status(0))
        }

        /// A change on a connection that ends before the receipt.
        private struct Abandoned {
            private let content: String
            private let key: String
            private let ifSequence: UInt64?
            private let invoked: UInt64

            static func send(
                _ daemon: Daemon, _ load: Load, _ content: String, _ random: inout SeededGenerator
            ) throws -> Abandoned {
                let client = try RawClient(daemon)
                let key = keys.randomElement(using: &random) ?? keys[0]
                let present = try client.values(key, object: "").first?.sequence ?? 0
                let change = Abandoned(
                    content: content, key: key, ifSequence: random.chance(50) ? present : nil,
                    invoked: load.history.now())
                try client.send(value: content, for: key, ifSequence: change.ifSequence)
                return change
            }

            /// Records the change.
            ///
            /// - Parameter mayFollow: Whether the change may still take effect: the daemon that received it runs.
            func record(_ load: Load, mayFollow: Bool) {
                let operation = ValueOperation(uncertain: .set(content, ifSequence: ifSequence))
                if mayFollow {
                    load.history.recordPending(operation, on: key, invoked: invoked)
                } else {
                    load.history.record(operation, on: key, invoked: invoked, isCertain: false)
                }
            }
        }

        /// A client that makes one request at a time.
        private struct Member {
            private let number: Int
            private var random: SeededGenerator
            private var contents = 0
            /// The last sequence of each value that this client has learned.
            private var known: [String: UInt64] = [:]

            init(number: Int, seed: UInt64) {
                self.number = number
                random = SeededGenerator(seed: seed)
            }

            mutating func step(_ client: NotificationClient, _ load: Load) async throws {
                guard let key = keys.randomElement(using: &random) else { return }
                let request = next(key)
                let invoked = load.history.now()
                do {
                    let result = try await perform(request, key, client)
                    load.history.record(ValueOperation(request, result), on: key, invoked: invoked)
                    learn(request, result, key)
                } catch let error as NotifyError {
                    switch error.code {
                    case .valueChanged:
                        let current = try #require(error.detail)
                        load.history.record(
                            ValueOperation(request, .refused(current: current)), on: key, invoked: invoked)
                        load.refusals.add(1, ordering: .relaxed)
                        known[key] = current
                    case .outcomeUnknown:
                        // The connection breaks only because the daemon has ended, so the request can't take effect
                        // later.
                        load.history.record(
                            ValueOperation(uncertain: request), on: key, invoked: invoked, isCertain: false)
                        load.uncertain.add(1, ordering: .relaxed)
                    default: throw error
                    }
                }
                load.ended.update { $0 += 1 }
            }

            private mutating func next(_ key: String) -> ValueOperation.Request {
                let expected: UInt64? =
                    switch Int.random(in: 0..<100, using: &random) {
                    case ..<50: known[key] ?? 0
                    case ..<60: 0
                    case ..<65: (known[key] ?? 0) + 1
                    default: nil
                    }
                switch Int.random(in: 0..<100, using: &random) {
                case ..<55:
                    contents += 1
                    return .set("\(number).\(contents)", ifSequence: expected)
                case ..<70: return .clear(ifSequence: expected)
                default: return .get
                }
            }

            private func perform(
                _ request: ValueOperation.Request, _ key: String, _ client: NotificationClient
            ) async throws -> ValueOperation.Result {
                switch request {
                case .set(let content, let expected):
                    .changed(sequence: try await client.setValue(content, for: key, ifSequence: expected).sequence)
                case .clear(let expected):
                    try await client.clear(key, ifSequence: expected) ? .changed(sequence: nil) : .noValue
                case .get:
                    try await client.value(of: key).map { .value($0.text ?? "", sequence: $0.sequence) } ?? .noValue
                }
            }

            private mutating func learn(
                _ request: ValueOperation.Request, _ result: ValueOperation.Result, _ key: String
            ) {
                switch (request, result) {
                case (.set, .changed(let sequence?)), (_, .value(_, let sequence)): known[key] = sequence
                default: known[key] = 0
                }
            }
        }
    }
}

extension ValueOperation {
    /// The sequence of a change with a receipt.
    fileprivate var receipt: UInt64? {
        guard case .set = request, case .changed(let sequence) = result else { return nil }
        return sequence
    }
}

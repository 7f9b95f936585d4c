import Foundation
import NotifyWire
import Synchronization
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The daemon is killed repeatedly while values change.
    @Suite struct KillValueTests {
        private static let rounds = 12
        /// The maximum number of rounds. Slow machines need more rounds than others until there is enough data.
        private static let mostRounds = 100

        /// Starts the daemon again and again, and kills it while threads change values.
        ///
        /// - Parameters:
        ///   - body: The load of a thread until the daemon has ended.
        ///   - check: Called after each start. Returns whether the load has made enough changes.
        private static func run(
            _ daemon: Daemon, threads: Int,
            _ body: @escaping @Sendable (_ thread: Int, _ round: Int, _ seed: UInt64) throws -> Void,
            check: (RawClient) throws -> Bool
        ) async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("kill rounds with values: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            var hasEnoughData = false
            for round in 1...mostRounds where round <= rounds || !hasEnoughData {
                let seeds = (0..<threads).map { _ in random.next() }
                let process = daemon.process
                let life = Int.random(in: 1...500, using: &random)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) { process.send(SIGKILL) }
                try await onThreads(threads) { thread in try body(thread, round, seeds[thread]) }
                #expect(try await process.waitForExit() == .signal(SIGKILL))
                try await daemon.start()
                hasEnoughData = try check(RawClient(daemon))
            }
            #expect(hasEnoughData)
            #expect(try await daemon.stop() == .status(0))
        }

        @Test func `a change of a value with a receipt, or a later one, is present after a kill`() async throws {
            let daemon = try await Daemon.start()
            let journals = (0..<3).map { ValueJournal("load.\($0)") }
            try await Self.run(daemon, threads: journals.count) { thread, round, seed in
                try journals[thread].change(daemon, round: round, seed: seed)
            } check: { client in
                for journal in journals { journal.compare(try client.values("\(journal.name).*")) }
                #expect(journals.flatMap(\.violations).isEmpty)
                return journals.allSatisfy { $0.receipts > 300 }
            }
        }

        /// Several clients increment one value, each time with the sequence of the value that they have read.
        @Test func `no increment with a condition is lost or overwritten by kills`() async throws {
            let daemon = try await Daemon.start()
            let confirmed = Mutex<[Int]>([])
            try await Self.run(daemon, threads: 3) { _, _, _ in
                do {
                    let client = try RawClient(daemon)
                    while true {
                        let value = try client.values("counter").first
                        let next = (value.flatMap { Int($0.text) } ?? 0) + 1
                        do {
                            try client.setValue("\(next)", for: "counter", ifSequence: value?.sequence ?? 0)
                            confirmed.withLock { $0.append(next) }
                        } catch let refused as Refused {
                            guard refused.code == .valueChanged else { throw refused }
                        }
                    }
                } catch {
                    guard error.isEndOfDaemon else { throw error }
                }
            } check: { client in
                let counter = try client.values("counter").first.flatMap { Int($0.text) } ?? 0
                let all = confirmed.withLock { $0 }
                #expect(Set(all).count == all.count, "two clients made the same increment")
                #expect(all.allSatisfy { $0 <= counter })
                // Each kill can take the receipt of at most one increment of each client.
                #expect(counter - all.count <= 3 * Self.mostRounds)
                return all.count > 300
            }
        }
    }
}

extension Error {
    /// Whether the error is the end of the stream or a failed system call, the only effects that a kill may have.
    fileprivate var isEndOfDaemon: Bool { self is ConnectionEnded || self is Errno }
}

/// The changes of the values of one client, over several runs of the daemon.
private final class ValueJournal: Sendable {
    /// A value, or nil if it was cleared.
    private typealias Content = String?

    private struct State {
        /// Of each name, the present value and the changes after it that have no receipt yet.
        var contents: [String: [Content]] = [:]
        /// The names of the changes without a receipt, by request.
        var outstanding: [UInt64: String] = [:]
        var receipts = 0
        var violations: [String] = []
    }

    private static let names = 20
    private static let maximumOutstanding = 100

    /// The beginning of the names.
    let name: String
    private let state = Mutex(State())

    init(_ name: String) {
        self.name = name
    }

    var violations: [String] { state.withLock { $0.violations } }
    /// The number of changes with a receipt.
    var receipts: Int { state.withLock { $0.receipts } }

    /// Sets and clears values until the daemon has ended.
    func change(_ daemon: Daemon, round: Int, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let client: RawClient
        do {
            client = try RawClient(daemon)
        } catch {
            guard error.isEndOfDaemon else { throw error }
            return
        }
        var number = 0
        do {
            while true {
                var frames: [UInt8] = []
                for _ in 0..<Int.random(in: 1...20, using: &random) {
                    number += 1
                    let padding = String(repeating: "x", count: Int.random(in: 0...2000, using: &random))
                    let content = random.chance(15) ? nil : "\(round) \(number) \(padding)"
                    frames += note(content, request: client.newRequest(), &random)
                }
                try client.send(frames)
                while state.withLock({ $0.outstanding.count > Self.maximumOutstanding }) { take(try client.next()) }
            }
        } catch {
            guard error.isEndOfDaemon else { throw error }
            // Receipts that arrived before the end of the connection are valid.
            for event in (try? client.waitForEnd()) ?? [] { take(event) }
        }
    }

    /// Records a change.
    ///
    /// - Returns: Its frame.
    private func note(_ content: Content, request: UInt64, _ random: inout SeededGenerator) -> [UInt8] {
        let name = "\(name).\(Int.random(in: 0..<Self.names, using: &random))"
        state.withLock { state in
            state.contents[name, default: [nil]].append(content)
            state.outstanding[request] = name
        }
        guard let content else { return ClearValues(request: request, object: "", patterns: [name]).encoded }
        return setValueFrame(request, name, payload: Array(content.utf8))
    }

    private func take(_ event: Received) {
        state.withLock { state in
            let request: UInt64? =
                switch event {
                case .receipt(let receipt): receipt.request
                case .valuesCleared(let cleared): cleared.request
                default: nil
                }
            guard let request, let name = state.outstanding.removeValue(forKey: request) else {
                return state.violations.append("received \(event)")
            }
            // The changes of a name are answered in the order in which they were sent.
            state.contents[name]?.removeFirst()
            state.receipts += 1
        }
    }

    /// Compares the values after a start with the changes that were sent.
    func compare(_ values: [ReceivedMessage]) {
        state.withLock { state in
            state.outstanding = [:]
            let found = Dictionary(grouping: values, by: \.name)
            for (name, values) in found where values.count > 1 { state.violations.append("\(name) has two values") }
            for name in Set(found.keys).union(state.contents.keys) {
                let content = found[name]?.first?.text
                if state.contents[name]?.contains(content) != true {
                    state.violations.append("\(name) is \(content?.prefix(20) ?? "cleared")")
                }
                state.contents[name] = [content]
            }
        }
    }
}

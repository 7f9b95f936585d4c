import Foundation
import NIOCore
import NotifyClient
import NotifyWire
import Synchronization
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// Requests while servers, askers and the daemon are killed or disconnect.
    @Suite struct RequestHistoryTests {
        private static let name = "user.\(getuid()).history"
        private static let lives = 20
        private static let askers = 4
        private static let rawAskers = 2

        @Test func `every request has one outcome, and is handed out again only if it was returned`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("history of requests: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            let journal = RequestJournal(folder: try TemporaryFolder())
            var configuration = daemon.patientConfiguration
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            try await withThrowingTaskGroup(of: Void.self) { servers in
                for isLeaving in [false, true] {
                    servers.addTask { [configuration, seed = random.next()] in
                        try await withNotificationClient(configuration: configuration) { client in
                            try await Self.serve(client, journal, isLeaving: isLeaving, seed)
                        }
                    }
                }
                try await withThrowingTaskGroup(of: Void.self) { askers in
                    defer { journal.stop() }
                    for number in 0..<Self.askers {
                        askers.addTask { [configuration, seed = random.next()] in
                            try await withNotificationClient(configuration: configuration) { client in
                                try await Self.ask(client, journal, number, seed)
                            }
                        }
                    }
                    try await Self.live(daemon, journal, &random) { try await askers.waitForAll() }
                }
                servers.cancelAll()
                try await servers.waitForAll()
            }
            let violations = journal.violations()
            print("history of requests: \(journal.summary)")
            #expect(violations.isEmpty, "seed \(seed): \(violations.count) violations")
        }

        /// Runs the raw clients and a server process, and kills the daemon repeatedly.
        ///
        /// - Parameter waitForAskers: Waits for the other askers after the journal was stopped.
        private static func live(
            _ daemon: Daemon, _ journal: RequestJournal, _ random: inout SeededGenerator,
            waitForAskers: () async throws -> Void
        ) async throws {
            var process = try startServer(daemon, journal)
            for life in 1...lives {
                try await self.life(life, daemon, journal, &process, &random, waitForAskers)
                if life < lives { try await daemon.start() }
            }
        }

        /// Runs the raw clients until the daemon is killed, and kills the server process meanwhile.
        private static func life(
            _ life: Int, _ daemon: Daemon, _ journal: RequestJournal,
            _ process: inout (process: ChildProcess, server: String), _ random: inout SeededGenerator,
            _ waitForAskers: () async throws -> Void
        ) async throws {
            journal.lifeBegan()
            let count = Int.random(in: 100...600, using: &random)
            let seeds = (0...rawAskers).map { _ in random.next() }
            async let server: Void = serve(daemon, journal, seed: seeds[0])
            async let askers: Void = ask(daemon, journal, life, seeds: Array(seeds.dropFirst()))
            do {
                try await journal.waitForOutcomes(count / 2)
                journal.willEnd(process.server)
                process.process.send(SIGKILL)
                _ = try await process.process.waitForExit()
                process = try startServer(daemon, journal)
                try await journal.waitForOutcomes(count)
                if life == lives {
                    journal.stop()
                    try await askers
                    try await waitForAskers()
                    process.process.send(SIGTERM)
                    _ = try await process.process.waitForExit()
                }
                journal.lifeWillEnd()
                try await daemon.kill()
            } catch {
                // Ends the threads.
                daemon.process.send(SIGKILL)
                throw error
            }
            try await askers
            try await server
        }

        // MARK: Servers

        /// Starts a process that serves the name.
        private static func startServer(
            _ daemon: Daemon, _ journal: RequestJournal
        ) throws -> (process: ChildProcess, server: String) {
            let server = journal.newServer("process", concurrency: 2)
            let script = """
                read -r id
                echo "$id" >>'\(journal.file(of: server))'
                printf 'reply %s %s' "$id" '\(server)'
                """
            let process = try Notifyctl(daemon).start(["serve", name, "--parallel", "2", "--", "sh", "-c", script])
            return (process, server)
        }

        /// Serves the name until the task is cancelled.
        ///
        /// - Parameter isLeaving: Whether the server ends and begins anew again and again.
        private static func serve(
            _ client: NotificationClient, _ journal: RequestJournal, isLeaving: Bool, _ seed: UInt64
        ) async throws {
            let choices = Choices(seed: seed)
            while !Task.isCancelled {
                let server = journal.newServer(isLeaving ? "leaving" : "staying", concurrency: 4)
                let received = Watched(0)
                let last = choices.next(1...100)
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        try await client.serve(name, concurrency: 4) { request in
                            defer { received.update { $0 += 1 } }
                            let choice = choices.next(0...99)
                            return try await respond(to: request.text ?? "", choice, server, journal)
                        }
                    }
                    if isLeaving {
                        _ = try? await received.wait("requests") { $0 >= last ? true : nil }
                        group.cancelAll()
                    }
                    do {
                        try await group.waitForAll()
                    } catch let error as NotifyError {
                        // The task was cancelled before the daemon confirmed the registration.
                        guard error.code == .cancelled else { throw error }
                    }
                }
            }
        }

        private static func respond(
            to id: String, _ choice: Int, _ server: String, _ journal: RequestJournal
        ) async throws -> NotificationClient.Response {
            switch choice {
            case ..<10:
                journal.handOut(id, to: server, .returned)
                throw NotificationClient.RequestError.giveBack
            case ..<20:
                journal.handOut(id, to: server, .failed)
                throw NotificationClient.RequestError.failed("failed \(id) \(server)")
            default:
                journal.handOut(id, to: server, .replied)
                // Others are asked meanwhile. The end of the asker ends the pause.
                if choice < 60 { try? await Task.sleep(for: .milliseconds(choice % 5)) }
                return .init("reply \(id) \(server)")
            }
        }

        /// Serves the name until the daemon ends, on connections that end at random moments without responses.
        private static func serve(_ daemon: Daemon, _ journal: RequestJournal, seed: UInt64) async throws {
            try await onThreads(1) { _ in
                var random = SeededGenerator(seed: seed)
                do {
                    while true {
                        let server = journal.newServer("raw", concurrency: 3)
                        try serve(RawClient(daemon), server, journal, &random)
                    }
                } catch {
                    guard error.isEndOfDaemon else { throw error }
                }
            }
        }

        private static func serve(
            _ client: RawClient, _ server: String, _ journal: RequestJournal, _ random: inout SeededGenerator
        ) throws {
            let request = client.newRequest()
            try client.send(Serve(request: request, server: 1, concurrency: 3, patterns: [name]))
            _ = try client.answer(to: request, "serving") { if case .serving(let it) = $0 { it } else { nil } }
            var held: [(call: UInt64, id: String)] = []
            func respond(_ index: Int, _ outcome: Respond.Outcome, _ text: String) throws {
                let (call, id) = held.remove(at: index)
                let response: RequestJournal.Response = outcome == .replied ? .replied : .failed
                journal.respond(to: id, from: server, outcome == .returned ? .returned : response)
                try client.send(respondFrame(call, outcome, payload: Array("\(text) \(id) \(server)".utf8)))
            }
            while true {
                let event: Received
                do {
                    event = try client.next(within: held.isEmpty ? RawClient.patience : .milliseconds(5))
                } catch is TimedOut where !held.isEmpty {
                    try respond(0, .replied, "reply")
                    continue
                }
                switch event {
                case .serviceCall(let call):
                    journal.handOut(call.text, to: server, nil)
                    held.append((call.call, call.text))
                case .serviceCallEnded(let ended):
                    // The response may have crossed with this.
                    if let index = held.firstIndex(where: { $0.call == ended.call }) {
                        try respond(index, .failed, "late")
                    }
                    continue
                default:
                    journal.report("\(server) received \(event)")
                    continue
                }
                let index = Int.random(in: held.indices, using: &random)
                switch Int.random(in: 0..<100, using: &random) {
                case ..<50: try respond(index, .replied, "reply")
                case ..<60: try respond(index, .failed, "failed")
                case ..<75: try respond(index, .returned, "returned")
                case ..<85:
                    journal.willEnd(server)
                    return
                default: break
                }
            }
        }

        // MARK: Askers

        private static func ask(
            _ client: NotificationClient, _ journal: RequestJournal, _ number: Int, _ seed: UInt64
        ) async throws {
            var random = SeededGenerator(seed: seed)
            var count = 0
            while !journal.isStopped {
                count += 1
                let id = "\(number)-\(count)"
                let mayTimeOut = random.chance(10)
                let timeout = mayTimeOut ? .milliseconds(Int.random(in: 1...5, using: &random)) : Duration.seconds(300)
                journal.begin(id)
                let outcome: RequestJournal.Outcome
                do {
                    outcome = .replied(try await client.request(name, id, timeout: timeout).text ?? "")
                } catch {
                    switch error.code {
                    case .requestFailed: outcome = .failed(error.message)
                    case .noResponders: outcome = .noResponders
                    case .serverGone: outcome = .serverGone
                    case .outcomeUnknown: outcome = .unknown
                    case .requestTimedOut where mayTimeOut: outcome = .unknown
                    default: throw error
                    }
                }
                journal.end(id, outcome)
            }
        }

        /// Asks on connections that may end before the replies arrive, until the daemon ends or the journal is stopped. The
        /// requests of each connection have the same numbers.
        private static func ask(
            _ daemon: Daemon, _ journal: RequestJournal, _ life: Int, seeds: [UInt64]
        ) async throws {
            try await onThreads(seeds.count) { thread in
                var random = SeededGenerator(seed: seeds[thread])
                var connections = 0
                do {
                    while !journal.isStopped {
                        connections += 1
                        var asker = RawAsker(
                            try RawClient(daemon), "raw\(thread)-\(life)-\(connections)", journal)
                        try asker.run(
                            name, requests: Int.random(in: 1...40, using: &random), drains: random.chance(50))
                    }
                } catch {
                    guard error.isEndOfDaemon else { throw error }
                }
            }
        }
    }
}

extension Error {
    /// Whether the error is the end of the stream or a failed system call, the only effects that a kill may have.
    fileprivate var isEndOfDaemon: Bool { self is ConnectionEnded || self is Errno }
}

/// The random choices of concurrent handlers.
private final class Choices: Sendable {
    private let random: Mutex<SeededGenerator>

    init(seed: UInt64) { random = Mutex(SeededGenerator(seed: seed)) }

    func next(_ range: ClosedRange<Int>) -> Int { random.withLock { Int.random(in: range, using: &$0) } }
}

/// A connection that asks several requests at a time.
private struct RawAsker {
    private let client: RawClient
    private let prefix: String
    private let journal: RequestJournal
    private var outstanding: [UInt64: String] = [:]

    init(_ client: RawClient, _ prefix: String, _ journal: RequestJournal) {
        self.client = client
        self.prefix = prefix
        self.journal = journal
    }

    mutating func run(_ name: String, requests: Int, drains: Bool) throws {
        defer { for id in outstanding.values { journal.end(id, .unknown) } }
        do {
            for _ in 0..<requests where !journal.isStopped {
                while outstanding.count < 4 {
                    let request = client.newRequest()
                    let id = "\(prefix)-\(request)"
                    journal.begin(id)
                    outstanding[request] = id
                    try client.send(askFrame(request, name, payload: Array(id.utf8), timeout: .seconds(300)))
                }
                take(try client.next())
            }
            guard drains || journal.isStopped else { return }
            while !outstanding.isEmpty { take(try client.next()) }
            try client.ping()
            if !client.isQuiet { journal.report("\(prefix) received an answer without a request") }
        } catch {
            // Answers that arrived before the end of the connection are valid.
            for event in (try? client.waitForEnd(within: .seconds(1))) ?? [] { take(event) }
            throw error
        }
    }

    private mutating func take(_ event: Received) {
        guard let request = event.request, let id = outstanding.removeValue(forKey: request) else {
            return journal.report("\(prefix) received \(event) without a request")
        }
        switch event {
        case .serviceReply(let reply):
            journal.end(id, .replied(String(decoding: reply.payload.readableBytesView, as: UTF8.self)))
        case .error(let error):
            switch ErrorCode(rawValue: error.code) {
            case .requestFailed: journal.end(id, .failed(error.message))
            case .noResponders: journal.end(id, .noResponders)
            case .serverGone: journal.end(id, .serverGone)
            default: journal.report("\(id) was refused: \(error)")
            }
        default: journal.report("\(id) was answered with \(event)")
        }
    }
}

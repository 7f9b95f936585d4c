import Foundation
import Synchronization
import TestSupport

/// The requests, their outcomes, and the servers that had them.
final class RequestJournal: Sendable {
    enum Response: Sendable { case replied, failed, returned }

    enum Outcome: Sendable {
        case replied(String)
        case failed(String)
        case noResponders
        case serverGone
        case unknown
    }

    struct Problem: Error, CustomStringConvertible {
        let description: String
    }

    private struct Progress {
        /// The number of requests that have ended.
        var outcomes = 0
        var problem: String?
    }

    private struct HandOut {
        let server: String
        /// Nil if the server has not responded.
        var response: Response?
    }

    private struct Request {
        let began: Int
        var outcome: (outcome: Outcome, time: Int)?
        var handOuts: [HandOut] = []
    }

    private struct Server {
        let concurrency: Int
        /// The time before the end of its connection; nil if it lived as long as the daemon.
        var willEnd: Int?
    }

    /// A run of the daemon: the times after its start and before its end.
    private struct Life {
        let began: Int
        var willEnd: Int
    }

    private struct State {
        var time = 0
        var requests: [String: Request] = [:]
        var servers: [String: Server] = [:]
        var lives: [Life] = []
        var problems: [String] = []

        mutating func next() -> Int {
            time += 1
            return time
        }
    }

    private let folder: TemporaryFolder
    private let state = Mutex(State())
    private let progress = Watched(Progress())
    private let stopped = Atomic(false)

    init(folder: TemporaryFolder) { self.folder = folder }

    /// Whether the askers must end.
    var isStopped: Bool { stopped.load(ordering: .acquiring) }
    func stop() { stopped.store(true, ordering: .releasing) }

    /// Records a problem, and ends the wait for outcomes: some may never arrive.
    func report(_ problem: String) {
        state.withLock { $0.problems.append(problem) }
        progress.update { $0.problem = problem }
    }

    /// Waits until this number of requests has ended since the call.
    ///
    /// - Throws: `Problem` if one was reported.
    func waitForOutcomes(_ count: Int) async throws {
        let end = progress.current.outcomes + count
        let done = try await progress.wait("\(count) outcomes") { progress in
            progress.outcomes >= end || progress.problem != nil ? progress : nil
        }
        if let problem = done.problem { throw Problem(description: problem) }
    }

    // MARK: Daemons and servers

    func lifeBegan() {
        state.withLock { state in
            let began = state.next()
            state.lives.append(Life(began: began, willEnd: .max))
        }
    }

    /// Must be called before the daemon is killed.
    func lifeWillEnd() {
        state.withLock { state in
            let time = state.next()
            state.lives[state.lives.count - 1].willEnd = time
        }
    }

    /// A server with a connection of its own.
    ///
    /// - Returns: Its name.
    func newServer(_ kind: String, concurrency: Int) -> String {
        state.withLock { state in
            let server = "\(kind)-\(state.servers.count)"
            state.servers[server] = Server(concurrency: concurrency)
            return server
        }
    }

    /// Must be called before the connection of a server ends.
    func willEnd(_ server: String) {
        state.withLock { state in
            let time = state.next()
            state.servers[server]?.willEnd = time
        }
    }

    /// The file with the requests that a process was given.
    func file(of server: String) -> String { folder.file(server) }

    // MARK: Requests

    func begin(_ id: String) {
        state.withLock { state in
            let began = state.next()
            state.requests[id] = Request(began: began)
        }
    }

    func end(_ id: String, _ outcome: Outcome) {
        state.withLock { state in
            let time = state.next()
            if let earlier = state.requests[id]?.outcome {
                state.problems.append("\(id) has two outcomes: \(earlier.outcome) and \(outcome)")
            }
            state.requests[id]?.outcome = (outcome, time)
        }
        progress.update { $0.outcomes += 1 }
    }

    func handOut(_ id: String, to server: String, _ response: Response?) {
        let isKnown = state.withLock { state in
            state.requests[id]?.handOuts.append(HandOut(server: server, response: response))
            return state.requests[id] != nil
        }
        if !isKnown { report("\(server) was given '\(id)', which is no request") }
    }

    /// Must be called before the response is sent.
    func respond(to id: String, from server: String, _ response: Response) {
        state.withLock { state in
            guard let index = state.requests[id]?.handOuts.lastIndex(where: { $0.server == server }) else { return }
            state.requests[id]?.handOuts[index].response = response
        }
    }

    // MARK: Checking

    var summary: String {
        state.withLock { state in
            let kinds = state.requests.values.map { request in
                switch request.outcome?.outcome {
                case .replied: "replied"
                case .failed: "failed"
                case .noResponders: "no server"
                case .serverGone: "server gone"
                case .unknown, nil: "unknown"
                }
            }
            let counts = Dictionary(grouping: kinds) { $0 }.mapValues(\.count).sorted { $0.key < $1.key }
            let ended = state.servers.values.count { $0.willEnd != nil }
            return counts.map { "\($0.value) \($0.key)" }.joined(separator: ", ") + "; \(ended) servers ended"
        }
    }

    /// All problems. The processes and threads must have ended.
    func violations() -> [String] {
        for server in state.withLock({ Array($0.servers.keys) }) where server.hasPrefix("process") {
            let text = (try? String(contentsOfFile: file(of: server), encoding: .utf8)) ?? ""
            for id in text.split(separator: "\n") { handOut(String(id), to: server, .replied) }
        }
        return state.withLock { state in
            var problems = state.problems
            for (id, request) in state.requests {
                if let problem = Self.violation(id, request, state) {
                    problems.append("\(id): \(problem); \(request)")
                }
            }
            let gone = state.requests.values.count {
                if case .serverGone? = $0.outcome?.outcome { true } else { false }
            }
            // A server holds no more calls than its concurrency when its connection ends.
            let bound = state.servers.values.reduce(0) { $0 + ($1.willEnd == nil ? 0 : $1.concurrency) }
            if gone > bound { problems.append("\(gone) requests lost their server, more than the \(bound) that can") }
            return problems
        }
    }

    private static func violation(_ id: String, _ request: Request, _ state: State) -> String? {
        guard let (outcome, time) = request.outcome else { return "no outcome" }
        let handOuts = request.handOuts
        if Set(handOuts.map(\.server)).count < handOuts.count { return "a server was given the request twice" }
        let kept = handOuts.filter { $0.response != .returned }
        guard kept.count <= 1 else { return "two servers have kept the request" }
        switch outcome {
        case .replied(let text):
            guard let holder = kept.first, holder.response == .replied, text == "reply \(id) \(holder.server)" else {
                return "the reply is not that of its server"
            }
        case .failed(let text):
            guard let holder = kept.first, holder.response == .failed, text == "failed \(id) \(holder.server)" else {
                return "the failure is not that of its server"
            }
        case .noResponders:
            if !kept.isEmpty { return "a server has kept the request, although none was found" }
            if let server = stayingServer(from: request.began, to: time, state),
                !handOuts.contains(where: { $0.server == server })
            {
                return "no server was found, although \(server) was registered"
            }
        case .serverGone:
            // A server that has ended may have been handed the request without having read it.
            let candidates = kept.isEmpty ? Array(state.servers.keys) : kept.map(\.server)
            guard candidates.contains(where: { state.servers[$0]?.willEnd.map { $0 < time } ?? false }) else {
                return "the connection of the server has not ended"
            }
        case .unknown: break
        }
        return nil
    }

    /// The server that stays, if it was registered during the whole time: it has answered an earlier request of the same
    /// daemon.
    private static func stayingServer(from began: Int, to end: Int, _ state: State) -> String? {
        guard let life = state.lives.first(where: { $0.began < began && end < $0.willEnd }) else { return nil }
        for request in state.requests.values where request.began > life.began {
            guard let (outcome, time) = request.outcome, time < began, case .replied(let text) = outcome,
                let server = text.split(separator: " ").last, server.hasPrefix("staying")
            else { continue }
            return String(server)
        }
        return nil
    }
}

import NIOCore
import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import TestSupport
import WireTestSupport

@testable import NotifyBroker

/// Random clients that ask, serve, respond, give back, cancel and end, against what is promised: each request has one
/// answer, no server holds more than its concurrency, no call is handed to two servers at a time, and a reply comes from
/// the server that held the call.
struct ServiceModelTests {
    private struct Server: Hashable, CustomStringConvertible {
        let member: UInt32
        let number: UInt32

        var description: String { "server \(number) of \(member)" }
    }

    private final class Member {
        /// The pid, too.
        let number: UInt32
        let client: Client
        /// The payloads of the unanswered requests.
        var asked: [UInt64: String] = [:]
        /// The concurrency of each server.
        var servers: [UInt32: Int] = [:]
        var nextServer: UInt32 = 1

        init(_ number: UInt32, _ host: TestHost) {
            self.number = number
            client = host.connect(uid: 1000, pid: number)
        }
    }

    private static let names = ["jobs.a", "jobs.b", "jobs.a.x", "other"]
    private static let patterns = [["jobs.*"], ["jobs.>"], ["jobs.a", "jobs.b"], ["jobs.a.*"]]

    private final class Model {
        let host = TestHost(policy: AccessPolicy(rules: [AccessRule(.allow, [.serve], names: [">"], uids: [1000])]))
        var generator: SeededGenerator
        var members: [Member] = []
        /// The calls that servers hold, by number, with the payload of the request.
        var held: [UInt64: (payload: String, server: Server)] = [:]
        /// The payloads of the replies, by those of the requests.
        var replied: [String: String] = [:]
        var (answers, replies, handed) = (0, 0, 0)
        /// The responses to calls of others, and those that were refused.
        var (foreign, refused) = (0, 0)
        var lastPayload = 0
        var lastMember: UInt32 = 0

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        func step() {
            if members.count < 2 || members.count < 6 && generator.chance(3) {
                lastMember += 1
                return members.append(Member(lastMember, host))
            }
            let index = Int.random(in: members.indices, using: &generator)
            let member = members[index]
            switch Int.random(in: 0..<100, using: &generator) {
            case ..<35: ask(member)
            case ..<75: respond(member)
            case ..<82: serve(member)
            case ..<86: endServer(member)
            case ..<92: cancel(member)
            case ..<95: host.advance(.milliseconds(Int.random(in: 1...400, using: &generator)))
            case ..<97: end(index)
            default: respondForOther(member)
            }
            host.run()
            for member in members { receive(member) }
        }

        private func ask(_ member: Member) {
            guard let name = names.randomElement(using: &generator) else { return }
            let timeout = Duration.milliseconds(Int.random(in: 1...900, using: &generator))
            lastPayload += 1
            let payload = "\(lastPayload)"
            member.asked[member.client.ask(name, payload: Array(payload.utf8), timeout: timeout)] = payload
        }

        private var names: [String] { ServiceModelTests.names }

        /// A random call that a server of the member, or one of the others, holds.
        private func randomCall(of member: Member, isOwn: Bool) -> UInt64? {
            held.filter { ($1.server.member == member.number) == isOwn }.keys.sorted().randomElement(using: &generator)
        }

        private func respond(_ member: Member) {
            guard let call = randomCall(of: member, isOwn: true), let (payload, server) = held.removeValue(forKey: call)
            else { return }
            let outcome: Respond.Outcome = generator.chance(70) ? .replied : generator.chance(50) ? .failed : .returned
            let reply = "\(payload) by \(server)"
            if outcome == .replied { replied[payload] = reply }
            member.client.respond(call, outcome, payload: Array(reply.utf8))
        }

        private func respondForOther(_ member: Member) {
            guard let call = randomCall(of: member, isOwn: false) else { return }
            foreign += 1
            member.client.respond(call, generator.chance(50) ? .replied : .returned, payload: Array("forged".utf8))
        }

        private func serve(_ member: Member) {
            guard let patterns = ServiceModelTests.patterns.randomElement(using: &generator) else { return }
            let concurrency = Int.random(in: 1...3, using: &generator)
            member.servers[member.nextServer] = concurrency
            member.client.serve(member.nextServer, patterns, concurrency: UInt32(concurrency))
            member.nextServer += 1
        }

        private func endServer(_ member: Member) {
            guard let number = member.servers.keys.sorted().randomElement(using: &generator) else { return }
            member.client.endServing(number)
            member.servers[number] = nil
        }

        private func cancel(_ member: Member) {
            guard let request = member.asked.keys.sorted().randomElement(using: &generator) else { return }
            member.client.send(CancelAsk(request: request))
        }

        private func end(_ index: Int) {
            let member = members.remove(at: index)
            held = held.filter { $1.server.member != member.number }
            host.closed(member.client)
        }

        func receive(_ member: Member) {
            for received in member.client.take() {
                switch received {
                case .serviceCall(let call): callReceived(call, member)
                case .serviceCallEnded(let ended):
                    #expect(held[ended.call]?.server.member == member.number, "the end of a call that is not held")
                case .serviceReply(let reply): replyReceived(reply, member)
                case .error(let error) where error.code == ErrorCode.unknownCall.rawValue: refused += 1
                case .error(let error): answered(error.request, member)
                case .serving, .servingEnded: break
                default: Issue.record("unexpected: \(received)")
                }
            }
        }

        private func callReceived(_ call: ReceivedServiceCall, _ member: Member) {
            handed += 1
            let server = Server(member: member.number, number: call.server)
            let other = held.first { $0.key == call.call || $0.value.payload == call.text }
            #expect(other == nil, "\(server) gets request \(call.text), too")
            held[call.call] = (call.text, server)
            let count = held.values.count { $0.server == server }
            #expect(count <= member.servers[call.server] ?? 0, "\(server) exceeds its concurrency, or has ended")
        }

        private func replyReceived(_ reply: ServiceReply, _ member: Member) {
            replies += 1
            let payload = String(decoding: reply.payload.readableBytesView, as: UTF8.self)
            #expect(payload == member.asked[reply.request].flatMap { replied[$0] }, "not the reply of the holder")
            #expect(payload.hasSuffix(" of \(reply.pid)"), "the pid of another server")
            answered(reply.request, member)
        }

        private func answered(_ request: UInt64, _ member: Member) {
            answers += 1
            #expect(member.asked.removeValue(forKey: request) != nil, "a second answer to request \(request)")
        }
    }

    @Test(arguments: (1...5) + Seeds.new(15, for: "ServiceModelTests"))
    func `each request has one answer, and nothing remains`(seed: UInt64) {
        let model = Model(seed: seed)
        for _ in 0..<2_000 { model.step() }
        // All time limits pass.
        model.host.advance(.seconds(1))
        model.host.run()
        for member in model.members {
            model.receive(member)
            #expect(member.asked.isEmpty, "unanswered: \(member.asked)")
        }
        for member in model.members { model.host.closed(member.client) }
        model.host.run()
        #expect(model.host.holdsNothing(1000))
        #expect(model.host.counter("open_requests") == 0 && model.host.counter("servers") == 0)
        #expect(model.foreign > 5 && model.refused == model.foreign)
        #expect(model.replies > 50 && model.answers > model.replies && model.handed > model.replies)
    }
}

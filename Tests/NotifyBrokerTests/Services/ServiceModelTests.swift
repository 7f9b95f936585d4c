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
    private final class Member {
        let client: Client
        /// The unanswered requests, with their payloads.
        var asked: [UInt64: UInt8] = [:]
        /// The calls that this client holds, by number, with the payload and the server.
        var held: [UInt64: (payload: UInt8, server: UInt32)] = [:]
        var servers: [UInt32: Int] = [:]
        var nextServer: UInt32 = 1

        init(_ client: Client) { self.client = client }
    }

    private static let names = ["jobs.a", "jobs.b", "jobs.a.x", "other"]
    private static let patterns = [["jobs.*"], ["jobs.>"], ["jobs.a", "jobs.b"], ["jobs.a.*"]]

    private final class Model {
        let host = TestHost(policy: AccessPolicy(rules: [AccessRule(.allow, [.serve], names: [">"], uids: [1000])]))
        var generator: SeededGenerator
        var members: [Member] = []
        /// The payloads of the calls that are held, to detect a second server for one request.
        var holders: [UInt8: Int] = [:]
        var (answers, replies, handed) = (0, 0, 0)
        var lastPayload: UInt8 = 0

        init(seed: UInt64) { generator = SeededGenerator(seed: seed) }

        func step() {
            if members.count < 2 || members.count < 6 && generator.chance(3) {
                return members.append(Member(host.connect(uid: 1000)))
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
            default: break
            }
            host.run()
            for member in members { receive(member) }
        }

        private func ask(_ member: Member) {
            lastPayload &+= 1
            // A payload stands for one open request.
            guard !members.contains(where: { $0.asked.values.contains(lastPayload) }) else { return }
            guard let name = names.randomElement(using: &generator) else { return }
            let timeout = Duration.milliseconds(Int.random(in: 1...900, using: &generator))
            member.asked[member.client.ask(name, payload: [lastPayload], timeout: timeout)] = lastPayload
        }

        private var names: [String] { ServiceModelTests.names }

        private func respond(_ member: Member) {
            guard let (call, held) = member.held.sorted(by: { $0.key < $1.key }).randomElement(using: &generator) else {
                return
            }
            member.held[call] = nil
            let outcome: Respond.Outcome = generator.chance(70) ? .replied : generator.chance(50) ? .failed : .returned
            member.client.respond(call, outcome, payload: [held.payload])
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
            host.closed(members[index].client)
            members.remove(at: index)
        }

        func receive(_ member: Member) {
            for received in member.client.take() {
                switch received {
                case .serviceCall(let call):
                    handed += 1
                    member.held[call.call] = (call.payload[0], call.server)
                    let held = member.held.values.count { $0.server == call.server }
                    #expect(held <= member.servers[call.server] ?? .max, "a server exceeds its concurrency")
                case .serviceCallEnded(let ended):
                    #expect(member.held[ended.call] != nil, "the end of a call that is not held")
                case .serviceReply(let reply):
                    replies += 1
                    #expect(Array(reply.payload.readableBytesView) == member.asked[reply.request].map { [$0] })
                    answered(reply.request, member)
                case .error(let error): answered(error.request, member)
                case .serving, .servingEnded: break
                default: Issue.record("unexpected: \(received)")
                }
            }
        }

        private func answered(_ request: UInt64, _ member: Member) {
            answers += 1
            #expect(member.asked.removeValue(forKey: request) != nil, "a second answer to request \(request)")
        }
    }

    @Test(arguments: 1...20)
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
        #expect(model.replies > 50 && model.answers > model.replies && model.handed > model.replies)
    }
}

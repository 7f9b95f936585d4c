import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

/// The order of the store's work on requests.
struct StoreRequestTurnsTests {
    private func works(_ host: TestHost) -> [StoreRequestKind] {
        host.store.jobs.compactMap { if case .work(_, .request(let kind)) = $0 { kind } else { nil } }
    }

    private func summarize(_ client: Client) {
        client.send(
            SummarizeLog(request: client.nextRequest(), first: 1, last: .max, maximumNames: 1, patterns: [">"]))
    }

    @Test func `a search does not wait for the check of the log`() {
        let host = TestHost()
        let client = host.connect(uid: 0)
        client.send(CheckRequest(request: client.nextRequest(), isFull: true))
        host.runTicks()
        #expect(works(host) == [.check])
        client.send(Find(request: client.nextRequest(), position: .age(microseconds: 1)))
        host.runTicks()
        // The store does slices of both in turn.
        #expect(works(host) == [.check, .search])
        host.core.broker.stored(.found(7), for: .request(.search), now: host.now)
        host.runTicks()
        #expect(client.take() == [.found(Found(request: 2, sequence: 7, last: 0))])
        #expect(host.core.broker.storeRequests.isWorking(on: .check))
    }

    @Test func `users take turns with requests of the same kind`() {
        let host = TestHost()
        let clients = [1000, 1000, 1000, 2000].map { host.connect(uid: $0) }
        for client in clients { summarize(client) }
        host.runTicks()
        var order: [Int] = []
        while !works(host).isEmpty {
            #expect(works(host) == [.summary], "one at a time")
            host.work()
            host.runTicks()
            order += clients.indices.filter { !clients[$0].take().isEmpty }
        }
        #expect(order == [0, 3, 1, 2])
    }

    @Test func `a request for dead letters that ends before its page is read holds up no other`() {
        let host = TestHost()
        let (reader, gone, client) = (host.connect(), host.connect(), host.connect())
        reader.read(["a"], 1...)
        host.runTicks()
        for requester in [gone, client] {
            requester.send(DeadLetters(request: requester.nextRequest(), action: .purge))
        }
        host.runTicks()
        #expect(host.core.broker.storeRequests.isWorking(on: .deadLetters))
        host.closed(gone)
        host.run()
        #expect(client.take() == [.deadLettersDone(DeadLettersDone(request: 1, messages: 0, kept: 0))])
        #expect(host.core.broker.storeRequests.isEmpty)
    }

    @Test func `a request for dead letters that waits for its page does not hold up the end of the daemon`() {
        let host = TestHost()
        let (reader, client) = (host.connect(), host.connect())
        reader.read(["a"], 1...)
        host.runTicks()
        client.send(DeadLetters(request: client.nextRequest(), action: .purge))
        host.runTicks()
        host.drain()
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.closing.rawValue])
        #expect(host.isDrained)
    }

    @Test func `a request that has ended is not answered, and the next one waits until its work is done`() {
        let host = TestHost()
        let (gone, client) = (host.connect(), host.connect())
        summarize(gone)
        host.runTicks()
        host.closed(gone)
        #expect(host.amount(of: .pendingBytes, 1000) == 0)
        summarize(client)
        host.runTicks()
        #expect(works(host) == [.summary])
        host.work()
        host.runTicks()
        #expect(client.take().isEmpty && works(host) == [.summary])
        host.run()
        #expect(client.take() == [.listEnd(ListEnd(request: 1))])
    }

    @Test func `an answer without a request is ignored`() {
        let host = TestHost()
        host.core.broker.stored(.found(7), for: .request(.search), now: host.now)
        host.core.broker.stored(.backupMade(.success(7)), for: .backup(3), now: host.now)
        host.run()
        #expect(host.healthChanges.isEmpty)
    }
}

import WireTestSupport
import NotifyLog
import NIOCore
@testable import NotifyBroker
import NotifyWire
import Testing

struct PostingTests {
    private func receipts(_ client: Client) -> [Receipt] {
        client.take().compactMap { if case .receipt(let receipt) = $0 { receipt } else { nil } }
    }

    // MARK: Receipts

    @Test func `a receipt reports the achieved durability`() {
        let host = TestHost()
        let subscriber = host.connect()
        subscriber.subscribe(1, ["a", "b"])
        subscriber.subscribe(2, ["a"])
        subscriber.subscribe(3, ["b"], durable: "inbox")
        host.run()
        let poster = host.connect()
        poster.post("a", .automatic)
        poster.post("b", .automatic)
        poster.post("b", .volatile)
        poster.post("a", .stored)
        poster.post("b", .synced)
        poster.post("c", .automatic)
        host.run()
        let receipts = receipts(poster).sorted { $0.request < $1.request }
        #expect(receipts.map(\.request) == [1, 2, 3, 4, 5, 6])
        #expect(receipts.map(\.durability) == [.volatile, .stored, .volatile, .stored, .synced, .volatile])
        #expect(receipts.map(\.subscribers) == [1, 1, 1, 1, 1, 0])
        #expect(receipts.map(\.stored) == [0, 1, 0, 0, 1, 0])
        #expect(zip(receipts, receipts.dropFirst()).allSatisfy { $0.sequence < $1.sequence })
        #expect(host.store.messages.map(\.sequence) == [receipts[1], receipts[3], receipts[4]].map(\.sequence))
    }

    @Test func `stored posts wait for the commit and volatile posts do not`() {
        let host = TestHost()
        let subscriber = host.connect()
        subscriber.subscribe(1, [">"])
        host.run()
        _ = subscriber.take()
        let poster = host.connect()
        poster.post("a", .stored)
        poster.post("a", .volatile)
        host.tick()
        #expect(receipts(poster).map(\.request) == [2])
        #expect(subscriber.takeMessages().map(\.sequence).count == 2, "volatile subscribers do not wait")
        host.work()
        host.tick()
        #expect(receipts(poster).map(\.request) == [1])
    }

    @Test func `only synced posts make a batch flush`() {
        let host = TestHost()
        let poster = host.connect()
        poster.post("a", .stored)
        host.run()
        #expect(host.store.batches.last?.isSynced == false)
        poster.post("a", .stored)
        poster.post("a", .synced)
        host.run()
        #expect(host.store.batches.last?.isSynced == true)
        #expect(host.store.batches.last?.blocks.flatMap(\.entries).count == 2)
        #expect(receipts(poster).map(\.durability) == [.stored, .stored, .synced])
    }

    @Test func `successful posts without a receipt have no answer`() {
        let host = TestHost()
        let poster = host.connect()
        poster.post("a", .stored, receipt: false)
        poster.post("a", .volatile, receipt: false)
        host.run()
        #expect(poster.take().isEmpty)
        #expect(host.store.messages.count == 1)
    }

    @Test func `posts gather while a batch is committed`() {
        let host = TestHost()
        let poster = host.connect()
        let before = host.store.batches.count
        for _ in 0..<100 {
            poster.post("a", .stored)
            host.tick()
        }
        #expect(host.store.batches.count == before + 1, "one batch is in flight")
        host.run()
        #expect(host.store.batches.count == before + 2)
        #expect(receipts(poster).count == 100)
    }

    @Test func `a failed batch is an error for each of its posts`() {
        let host = TestHost()
        let (poster, gone) = (host.connect(), host.connect())
        let watcher = host.connect()
        watcher.subscribe(1, [">"], durable: "inbox")
        watcher.subscribe(2, [">"])
        host.run()
        _ = watcher.take()
        poster.post("a", .stored)
        poster.post("a", .synced, receipt: false)
        gone.post("a", .stored)
        host.tick()
        host.closed(gone)
        host.work(failingWith: .full)
        host.tick()
        let errors = poster.takeErrors()
        #expect(errors.map(\.request) == [1, 2])
        #expect(errors.map(\.code) == [80, 80])
        #expect(errors.allSatisfy { !$0.isFatal && $0.message.contains("the disk is full") })
        #expect(watcher.takeMessages().map(\.subscription) == [0, 0, 0], "delivered before the commit")
        poster.post("a", .stored)
        host.run()
        #expect(poster.takeErrors().map(\.code) == [80])
        #expect(watcher.takeMessages().isEmpty, "refused before delivery while storage is failing")
        host.advance(.seconds(1))
        host.run()
        poster.post("a", .stored)
        host.run()
        #expect(receipts(poster).map(\.request) == [4])
        #expect(
            watcher.takeMessages().filter { $0.subscription == 1 }.count == 1,
            "the durable subscription gets only the message whose batch was committed")
    }

    // MARK: Refusals

    @Test func `invalid posts are refused with an error`() {
        var configuration = BrokerConfiguration()
        configuration.maximumPayloadBytes = 10
        let host = TestHost(configuration)
        let client = host.connect()
        let name = Array("a".utf8)
        let cases: [([UInt8], ErrorCode?)] = [
            (postFrame(1, name: []), .invalidName), (postFrame(2, name: Array("a..b".utf8)), .invalidName),
            (postFrame(3, name: Array("a.*".utf8)), .invalidName), (postFrame(4, name: [0xFF]), .invalidName),
            (postFrame(5, name: name, object: [0xC0]), .invalidObject),
            (postFrame(6, name: name, headers: [1, 2]), .invalidHeaders),
            (postFrame(7, name: name, payload: [UInt8](repeating: 0, count: 10)), nil),
            (postFrame(8, name: name, payload: [UInt8](repeating: 0, count: 11)), .payloadTooLarge),
            (postFrame(9, name: name, messageID: [1]), .unsupported),
            (postFrame(10, name: Array("notifyd.x".utf8)), .forbidden),
            (postFrame(11, name: name, receipt: false), nil),
            (postFrame(12, name: [], receipt: false), .invalidName),
        ]
        for (frame, _) in cases { client.send(frame) }
        var unknownDurability = postFrame(13, name: name)
        unknownDurability[FrameHeader.size + 13] = 4
        client.send(unknownDurability)
        host.run()
        let received = client.take()
        let errors = received.compactMap { if case .error(let error) = $0 { error } else { nil } }
        let expected = cases.enumerated().compactMap { index, one in one.1.map { (UInt64(index + 1), $0.rawValue) } }
        #expect(errors.map(\.request) == expected.map(\.0) + [13])
        #expect(errors.map(\.code) == expected.map(\.1) + [ErrorCode.invalidArgument.rawValue])
        #expect(received.count == errors.count + 1)
        #expect(host.counter("messages_in") == 2)
        #expect(!client.isClosed)
    }

    /// The resolution of the name may be cached. The other parts of a post must be checked nevertheless.
    @Test func `posts under a resolved name are validated fully`() {
        let host = TestHost()
        let (root, client) = (host.connect(uid: 0), host.connect(uid: 1000))
        root.post("user.5.x", object: "o")
        host.run()
        client.post("user.5.x", object: "o")
        client.send(postFrame(2, name: Array("user.5.x".utf8), object: [0xC0]))
        root.send(postFrame(2, name: Array("user.5.x".utf8), object: Array("o".utf8), headers: [9]))
        host.run()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.forbidden.rawValue, ErrorCode.invalidObject.rawValue])
        #expect(root.takeErrors().map(\.code) == [23])
        #expect(host.counter("messages_in") == 1)
    }

    @Test(arguments: [1, 2, 5])
    func `the window bounds posts that wait for receipts`(_ window: Int) {
        var configuration = BrokerConfiguration()
        configuration.postWindow = window
        let host = TestHost(configuration)
        let client = host.connect()
        for _ in 0..<window { client.post("a", .stored) }
        client.post("a", .stored, receipt: false)
        client.post("a", .volatile)
        host.tick()
        #expect(receipts(client).count == 1, "only the volatile post is answered, and no post is refused")
        client.post("a", .stored)
        host.tick()
        let errors = client.takeErrors()
        #expect(errors.map(\.code) == [ErrorCode.postWindowExceeded.rawValue])
        #expect(errors.map(\.request) == [UInt64(window) + 3])
        host.run()
        #expect(receipts(client).count == window)
        for _ in 0..<window { client.post("a", .stored) }
        host.run()
        #expect(receipts(client).count == window, "the window is available again")
    }

    @Test func `a failed batch frees the window`() {
        var configuration = BrokerConfiguration()
        configuration.postWindow = 2
        let host = TestHost(configuration)
        let client = host.connect()
        for _ in 0..<3 {
            client.post("a", .stored)
            client.post("a", .stored)
            host.tick()
            host.work(failingWith: .broken)
            host.tick()
            #expect(client.takeErrors().map(\.code) == [81, 81])
        }
    }

    @Test func `names of stored messages are limited per user`() {
        var configuration = BrokerConfiguration()
        configuration.namesPerUser = 2
        let host = TestHost(configuration)
        let client = host.connect()
        for name in ["a", "b", "c", "a"] { client.post(name, .stored) }
        client.post("c", .volatile)
        host.run()
        let received = client.take()
        #expect(received.count == 5)
        let refused = received.compactMap { if case .error(let error) = $0 { error.request } else { nil } }
        #expect(refused == [3])
        let errors = received.compactMap { if case .error(let error) = $0 { "\(error)" } else { nil } }
        #expect(errors.allSatisfy { $0.contains("a name is free again once all its messages are deleted") })
    }

    // MARK: Before the first reservation

    @Test func `posts are refused until the first sequences are reserved`() {
        let host = TestHost(isReady: false)
        #expect(!host.isReady)
        let client = host.connect(Peer(uid: 1, gid: 1, pid: 1), greeting: nil)
        client.send(Hello(instance: .one))
        client.post("a", .volatile)
        host.tick()
        #expect(client.takeErrors().map(\.code) == [ErrorCode.storageFailed.rawValue])
        #expect(host.store.batches.first?.reserveBelow == 1 + Sequencer.blockSize)
        host.work(failingWith: .broken)
        #expect(!host.isReady)
        host.advance(.seconds(1))
        host.run()
        #expect(host.isReady)
        client.post("a", .volatile)
        host.run()
        #expect(receipts(client).map(\.sequence) == [1])
    }
}

import NotifyCenter
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyBroker

struct ClientReadsTests {
    private struct Read: ClientRead, Equatable {
        let connection: ConnectionID
        let uid: UInt32
        let request: UInt64
        var mayWait = true

        /// - Parameter slot: The slot of the connection; its user has the number of the tens.
        init(_ slot: Int32, _ request: UInt64 = 1, generation: UInt32 = 0, mayWait: Bool = true) {
            connection = ConnectionID(slot: ConnectionSlot(slot), generation: generation)
            uid = UInt32(slot / 10)
            self.request = request
            self.mayWait = mayWait
        }
    }

    private var reads = ClientReads<Read>()

    private mutating func takeAll() -> [Read] {
        var taken: [Read] = []
        while let read = reads.next() { taken.append(read) }
        return taken
    }

    @Test mutating func `users take turns, and so do the connections of a user`() {
        for request in 1...3 as ClosedRange<UInt64> { reads.append(Read(10, request)) }
        reads.append(Read(11))
        reads.append(Read(20, 1))
        reads.append(Read(20, 2))
        #expect(takeAll() == [Read(10, 1), Read(20, 1), Read(11), Read(20, 2), Read(10, 2), Read(10, 3)])
        #expect(reads.isEmpty)
    }

    @Test mutating func `a connection without room waits with all its requests, and keeps their order`() {
        for request in 1...3 as ClosedRange<UInt64> { reads.append(Read(10, request)) }
        reads.append(Read(11))
        let first = reads.next()
        if let first { reads.waitForRoom(first) }
        reads.append(Read(10, 4))
        #expect(first == Read(10, 1) && takeAll() == [Read(11)] && reads.isEmpty)
        reads.wake(Read(11).connection)
        #expect(takeAll().isEmpty)
        reads.wake(Read(10).connection)
        #expect(takeAll() == (1...4).map { Read(10, $0) })
    }

    @Test mutating func `a commit wakes the requests that it concerns`() {
        for slot in [30, 10, 20] as [Int32] {
            for request in 1...2 as ClosedRange<UInt64> { reads.waitForCommit(Read(slot, request)) }
        }
        #expect(reads.atEndCount == 6 && reads.isEmpty)
        reads.committed { $0.request == 2 && $0.uid < 3 }
        #expect(takeAll() == [Read(10, 2), Read(20, 2)] && reads.atEndCount == 4)
        reads.committed()
        #expect(takeAll() == [Read(30, 1), Read(10), Read(20), Read(30, 2)] && reads.atEndCount == 0)
    }

    @Test mutating func `a request that may wait is ended in every state`() {
        let connection = Read(10).connection
        reads.append(Read(10, 1))
        reads.append(Read(10, 2, mayWait: false))
        reads.waitForCommit(Read(10, 3))
        reads.begin(Read(10, 4))
        #expect(reads.end(connection, request: 2) == nil && reads.end(connection, request: 5) == nil)
        #expect(reads.end(Read(11).connection, request: 1) == nil)
        for request in [1, 3, 4] as [UInt64] {
            #expect(reads.end(connection, request: request) == Read(10, request))
            #expect(reads.end(connection, request: request) == nil)
        }
        #expect(reads.finish() == nil && reads.atEndCount == 0)
        #expect(takeAll() == [Read(10, 2, mayWait: false)] && Array(reads.all).isEmpty)
    }

    @Test mutating func `the requests of a connection that ends are removed`() {
        reads.append(Read(10, 1))
        reads.append(Read(11))
        reads.waitForCommit(Read(10, 2))
        reads.begin(Read(10, 3))
        #expect(reads.remove(Read(10).connection).map(\.request).sorted() == [1, 2, 3])
        #expect(reads.finish() == nil && reads.atEndCount == 0)
        #expect(Array(reads.all) == [Read(11)] && takeAll() == [Read(11)])
    }

    @Test mutating func `while no page is read, connections and requests that come and go use no more memory`() {
        reads.append(Read(10))
        for generation in 0..<1_000 as Range<UInt32> {
            let read = Read(11, generation: generation)
            for _ in 0..<2 {
                reads.append(read)
                #expect(reads.end(read.connection, request: 1) == read)
            }
            reads.append(read)
            #expect(reads.remove(read.connection) == [read])
        }
        #expect(reads.queue.count <= 2 + 65)
        #expect(takeAll() == [Read(10)])
    }

    // MARK: With a broker

    private let host = TestHost()

    /// Completes pages of the store until a client gets a frame.
    ///
    /// - Returns: The number of pages.
    private func pages(until client: Client) -> Int {
        host.runTicks()
        var count = 0
        while client.inbox.isEmpty, host.work() {
            count += 1
            host.runTicks()
        }
        #expect(!client.inbox.isEmpty)
        return count
    }

    @Test(arguments: [false, true])
    func `a request waits for one page of each other user and connection`(_ areValues: Bool) {
        func read(_ client: Client) {
            if areValues { client.readValues("none.>") } else { client.read(["none.>"], 1...) }
        }
        let (first, second, other) = (host.connect(), host.connect(), host.connect(uid: 2000))
        for _ in 0..<8 { read(first) }
        host.tick()
        read(other)
        // The first page is being read already.
        #expect(pages(until: other) == 2)
        read(second)
        #expect(pages(until: second) <= 3)
    }

    @Test func `a trace waits for one page of each other user`() {
        host.connect().post("a", .stored)
        host.run()
        let (clients, other) = ((0..<5).map { _ in host.connect() }, host.connect(uid: 2000))
        for client in clients + [other] {
            client.send(TraceRequest(request: client.nextRequest(), sequence: host.store.persistedThrough))
            host.tick()
        }
        #expect(pages(until: other) == 2)
    }
}

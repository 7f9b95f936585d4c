import Testing

@testable import NotifyBroker

/// The states of a log reader, and the events that change them.
struct LogReaderTests {
    enum State: CaseIterable {
        case behind, paging, live

        var reader: LogReader {
            var reader = LogReader(of: DurableSlot(0), after: 10)
            switch self {
            case .behind: break
            case .paging: reader.pageRequested(rights: 1)
            case .live: reader.caughtUp()
            }
            return reader
        }
    }

    @Test(arguments: State.allCases)
    func `only the awaited page is accepted`(_ state: State) {
        var reader = state.reader
        let before = reader.state
        #expect(reader.pageArrived(rights: 1) == (state == .paging))
        #expect(reader.state == (state == .paging ? .behind : before))
        #expect(reader.pageArrived(rights: 1) == false, "twice")
    }

    @Test func `a page under other rights is requested again`() {
        var reader = State.paging.reader
        #expect(reader.pageArrived(rights: 2) == false)
        #expect(reader.canRead)
    }

    @Test(arguments: State.allCases)
    func `a page is requested only for a reader that is behind`(_ state: State) {
        var reader = state.reader
        let before = reader.state
        reader.pageRequested(rights: 3)
        #expect(reader.state == (state == .behind ? .paging(rights: 3) : before))
    }

    @Test(arguments: State.allCases)
    func `only a live reader falls behind`(_ state: State) {
        var reader = state.reader
        let before = reader.state
        reader.fellBehind(at: 50)
        #expect(reader.state == (state == .live ? .behind : before))
        #expect(reader.position == (state == .live ? 50 : 10))
    }

    @Test func `the position never decreases`() {
        var reader = State.behind.reader
        reader.passed(through: 50)
        reader.passed(through: 40)
        #expect(reader.position == 50)
    }
}

struct LogReadersTests {
    private func readers(floor: UInt64 = 0) -> LogReaders {
        LogReaders(ring: TailRing(capacityBytes: 1 << 20, floor: floor))
    }

    private func open(_ readers: inout LogReaders, after position: UInt64 = 0) -> ReaderID {
        readers.open(LogReader(of: DurableSlot(0), after: position))
    }

    @Test func `a reader is ready when opened, and once after several wake-ups`() {
        var readers = readers()
        let id = open(&readers)
        #expect(readers.takeReady() == [id])
        #expect(readers.takeReady() == [])
        readers.wake(id)
        readers.wake(id)
        #expect(readers.takeReady() == [id])
    }

    @Test func `postponed readers continue first, so that all take turns`() {
        var readers = readers()
        let ids = (0..<4).map { _ in open(&readers) }
        let ready = readers.takeReady()
        #expect(ready == ids)
        readers.wake(ids[0])
        readers.postpone(ready[2...])
        #expect(readers.takeReady() == [ids[2], ids[3], ids[0]])
    }

    @Test func `a reader in a reused slot is a different reader`() {
        var readers = readers(floor: 10)
        let first = open(&readers)
        readers.queueForPage(first)
        readers.close(first)
        let second = open(&readers)
        #expect(first.slot == second.slot && first != second)
        #expect(!readers.contains(first))
        #expect(readers.nextForPage() == nil, "the queued reader is closed")
    }

    @Test func `a page is passed once, to the reader that requested it`() {
        var readers = readers(floor: 10)
        let ids = [open(&readers), open(&readers)]
        for id in ids {
            readers.queueForPage(id)
            readers.queueForPage(id)
        }
        for id in ids {
            #expect(readers.nextForPage() == id)
            readers.pageRequested(id, rights: 0)
            #expect(readers.pageArrived(rights: 0) == id)
            #expect(readers.pageArrived(rights: 0) == nil, "the page was already passed")
        }
        #expect(readers.nextForPage() == nil)
    }

    @Test func `a page for a closed reader is not used`() {
        var readers = readers(floor: 10)
        let first = open(&readers)
        readers.pageRequested(first, rights: 0)
        readers.close(first)
        let second = open(&readers)
        #expect(first.slot == second.slot)
        #expect(readers.pageArrived(rights: 0) == nil)
        #expect(readers[second].canRead)
    }

    @Test func `a reader whose page was read under other rights is ready again`() {
        var readers = readers(floor: 10)
        let id = open(&readers)
        _ = readers.takeReady()
        readers.pageRequested(id, rights: 0)
        #expect(readers.pageArrived(rights: 1) == nil)
        #expect(readers.takeReady() == [id])
    }

    @Test func `readers whose page failed retry when storage works`() {
        var readers = readers(floor: 10)
        let id = open(&readers)
        _ = readers.takeReady()
        readers.pageFailed(id)
        #expect(readers.takeReady() == [])
        readers.retryPages()
        #expect(readers.takeReady() == [id])
    }

    @Test(arguments: [
        (UInt64(4), LogReaders.Source.page), (5, .ring), (9, .ring), (10, .end), (11, .end),
    ])
    func `the source of a reader's messages depends on its position`(_ position: UInt64, _ source: LogReaders.Source) {
        var readers = readers(floor: 5)
        let id = open(&readers, after: position)
        #expect(readers.source(for: id, persistedThrough: 10) == source)
    }

    @Test func `readers that caught up are live`() {
        var readers = readers()
        let ids = (0..<3).map { _ in open(&readers) }
        for id in ids.reversed() { readers.caughtUp(id, through: 7) }
        #expect(readers.liveReaders == ids)
        #expect(readers[ids[0]].position == 7)
        readers.fellBehind(ids[1], at: 8)
        readers.close(ids[2])
        #expect(readers.liveReaders == [ids[0]])
    }
}

extension LogReaderTests {
    @Test func `a page that was requested under other rights is requested again`() {
        for isChanged in [false, true] {
            var reader = LogReader(of: DurableSlot(0), after: 7)
            reader.rightsChanged()
            reader.pageRequested(rights: 3)
            if isChanged { reader.rightsChanged() }
            #expect(!reader.canRead)
            #expect(reader.pageArrived(rights: 3) == !isChanged)
            #expect(reader.canRead && reader.position == 7)
        }
    }
}

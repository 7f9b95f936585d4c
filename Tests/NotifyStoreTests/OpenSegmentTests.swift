import NotifyCenter
import Testing

@testable import NotifyStore

struct OpenSegmentTests {
    /// An open segment with its table of names. The tests use n for the name with the id 100 * n.
    struct Fixture: ~Copyable {
        var names = NameTable()
        var segment = OpenSegment()
        var sequence: UInt64 = 0

        init() {
            for id in 1...9 as ClosedRange<UInt32> {
                _ = "name.\(id)".withUTF8Bytes { names.add($0, id: id * 100) }
            }
        }

        /// Adds a message of the name with the id `name * 100`.
        mutating func insert(_ name: UInt32, uid: UInt32 = 1000, bytes: Int = 10, now: Duration = .zero) throws {
            sequence += 1
            let found = names.number(ofID: name * 100)
            let number = try #require(found)
            segment.insert(
                sequence, name * 100, number: number, uid: uid, time: 50 + sequence, bytes: bytes, now: now)
        }

        mutating func rollBack() { segment.rollBack(names) }

        mutating func keep(_ entries: [SegmentEntry]) { segment.keep(entries, names) }

        var entries: [SegmentEntry] { segment.entries }
        var bounds: Segment { segment.segment }
    }

    private func entry(_ name: UInt32, uid: UInt32 = 1000, _ messages: UInt32, bytes: UInt64) -> SegmentEntry {
        SegmentEntry(name: name * 100, uid: uid, messages: messages, bytes: bytes)
    }

    @Test func `an entry counts the messages of a name and a user`() throws {
        var fixture = Fixture()
        for name in [5, 3, 5, 9, 3, 5] as [UInt32] { try fixture.insert(name) }
        for uid in [7, 1000, 8, 7] as [UInt32] { try fixture.insert(5, uid: uid, bytes: 1) }
        let expected = [
            entry(5, 4, bytes: 31), entry(3, 2, bytes: 20), entry(9, 1, bytes: 10), entry(5, uid: 7, 2, bytes: 2),
            entry(5, uid: 8, 1, bytes: 1),
        ]
        let entries = fixture.entries
        #expect(entries == expected)
        let bounds = fixture.bounds
        #expect(bounds == Segment(first: 1, last: 10, messages: 10, bytes: 64, earliest: 51, latest: 60))
        fixture.segment.reset()
        let isEmpty = fixture.segment.isEmpty
        #expect(isEmpty)
        try fixture.insert(5)
        let again = fixture.entries
        #expect(again == [entry(5, 1, bytes: 10)])
    }

    @Test func `a segment is full because of its messages, bytes or age`() throws {
        var options = StoreOptions()
        options.segmentMessages = 2
        options.segmentBytes = 100
        options.segmentAge = .seconds(60)
        var fixture = Fixture()
        let empty = fixture.segment.isFull(adding: 1000, now: .seconds(99), options)
        #expect(!empty, "a message of any size fits an empty segment")
        try fixture.insert(1, bytes: 40, now: .seconds(10))
        let fits = fixture.segment.isFull(adding: 60, now: .seconds(69.9), options)
        #expect(!fits)
        let isTooLarge = fixture.segment.isFull(adding: 61, now: .seconds(10), options)
        #expect(isTooLarge)
        let isOld = fixture.segment.isFull(adding: 1, now: .seconds(70), options)
        #expect(isOld)
        try fixture.insert(1, bytes: 10, now: .seconds(69))
        let hasTwo = fixture.segment.isFull(adding: 1, now: .seconds(69), options)
        #expect(hasTwo)
    }

    @Test(arguments: [false, true])
    func `a rollback restores the segment, even if the batch has closed it`(closesSegments: Bool) throws {
        var fixture = Fixture()
        try fixture.insert(1, now: .seconds(5))
        let before = fixture.bounds
        fixture.segment.begin()
        try fixture.insert(2)
        try fixture.insert(1)
        try fixture.insert(1, uid: 7)
        if closesSegments {
            fixture.segment.reset()
            try fixture.insert(1)
            fixture.segment.reset()
            try fixture.insert(3)
        }
        fixture.rollBack()
        let (bounds, entries, opened) = (fixture.bounds, fixture.entries, fixture.segment.opened)
        #expect(bounds == before)
        #expect(entries == [entry(1, 1, bytes: 10)])
        #expect(opened == .seconds(5))
        // Names of the rolled-back batch must get new entries when they are inserted again.
        fixture.segment.begin()
        for name in [1, 2, 3] as [UInt32] { try fixture.insert(name) }
        fixture.segment.commit()
        let after = fixture.entries
        #expect(after == [entry(1, 2, bytes: 20), entry(2, 1, bytes: 10), entry(3, 1, bytes: 10)])
    }

    @Test func `deleted messages leave the bounds unchanged, and messages added later count`() throws {
        var fixture = Fixture()
        for name in [1, 2, 2, 3] as [UInt32] { try fixture.insert(name) }
        fixture.segment.begin()
        fixture.keep([entry(2, 1, bytes: 10), entry(3, 1, bytes: 10)])
        for name in [1, 2] as [UInt32] { try fixture.insert(name) }
        fixture.segment.commit()
        let (bounds, entries) = (fixture.bounds, fixture.entries)
        #expect(bounds == Segment(first: 1, last: 6, messages: 4, bytes: 40, earliest: 51, latest: 56))
        #expect(entries == [entry(2, 2, bytes: 20), entry(3, 1, bytes: 10), entry(1, 1, bytes: 10)])
        fixture.keep([])
        let isEmpty = fixture.segment.isEmpty
        #expect(isEmpty)
    }

    @Test(arguments: [0, 1, 2])
    func `a rollback restores the messages that the batch has deleted`(deletions: Int) throws {
        var fixture = Fixture()
        for name in [1, 2, 2] as [UInt32] { try fixture.insert(name) }
        let (bounds, entries) = (fixture.bounds, fixture.entries)
        fixture.segment.begin()
        for name in [3, 1] as [UInt32] { try fixture.insert(name) }
        for deletion in 0..<deletions {
            fixture.keep(deletion == 0 ? [entry(1, 1, bytes: 10)] : [])
            try fixture.insert(2)
        }
        fixture.rollBack()
        let (boundsAfter, entriesAfter) = (fixture.bounds, fixture.entries)
        #expect(boundsAfter == bounds)
        #expect(entriesAfter == entries)
    }
}

extension String {
    func withUTF8Bytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        Array(utf8).withUnsafeBytes(body)
    }
}

import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// The requests and events of a client that reads and watches values.
struct ValueCursorTests {
    private let harness: MachineHarness
    private var cursor: ValueCursor

    init() throws {
        harness = try MachineHarness.ready()
        cursor = try ValueCursor(["a.>"], object: nil, isWatch: true)
    }

    /// Answers the cursor's request with a page, and returns the request and the events.
    private mutating func answer(
        _ sequences: [UInt64], reason: ClearedHeader.Reason = .cleared, cleared: Set<UInt64> = [],
        ephemeral: Set<UInt64> = [], _ change: (inout ValuePage) -> Void = { _ in }
    ) async throws -> (request: ReadValues, events: [String]) {
        let slot = harness.call(PageCall(cursor.request))
        let request: ReadValues = try #require(try harness.read().first).read()
        harness.receive { buffer in
            var page = ValuePage(request: request.request, count: UInt32(sequences.count), epoch: 5, through: 0)
            change(&page)
            page.write(to: &buffer)
            for sequence in sequences {
                let headers = ephemeral.contains(sequence) ? [UInt8]().withUnsafeBytes(EphemeralHeader.encoded) : []
                buffer.writeDelivery(
                    sequence, headers: cleared.contains(sequence) ? ClearedHeader.encoded(reason) : headers)
            }
        }
        let events = cursor.received(try await slot.wait())
        return (request, events.map(Self.text))
    }

    private static func text(_ event: NotificationClient.ValueEvent) -> String {
        switch event {
        case .value(let message): "\(message.sequence)"
        case .cleared(let message): "\(message.sequence) \(message.clearedReason ?? "")"
        case .upToDate(let position): "up to date at \(position.epoch) \(position.sequence)"
        case .reset: "reset"
        case .damaged(let count): "damaged \(count)"
        }
    }

    private static let lastStored = ReadValues.lastStoredKey

    /// Reads all keys, of which there are none.
    private mutating func begin(changesAfter: UInt64 = 3, announcedThrough: UInt64 = 0) async throws {
        _ = try await answer([]) {
            ($0.isEnd, $0.committedThrough, $0.run) = (true, changesAfter, 70)
            ($0.through, $0.announcedThrough) = (Self.lastStored, announcedThrough)
        }
    }

    @Test mutating func `all keys are read up to the last one of the first page, and then changes`() async throws {
        let first = try await answer([3, 9]) { ($0.through, $0.lastKey, $0.committedThrough) = (2, 7, 8) }
        #expect(first.request.order == .keys(after: 0, through: .max) && first.events == ["3", "9"])
        #expect(!cursor.isUpToDate)
        let second = try await answer([12]) {
            ($0.through, $0.lastKey, $0.committedThrough, $0.isEnd) = (7, 99, 77, true)
        }
        #expect(second.request.order == .keys(after: 2, through: 7) && second.events == ["12"])
        let announced = try await answer([10], ephemeral: [10]) { ($0.isEnd, $0.announcedThrough) = (true, 11) }
        #expect(announced.request.order == .keys(after: Self.lastStored, through: .max))
        #expect(announced.events == ["10"] && cursor.isUpToDate)
        // 9 and 12 were read by key. 12 comes again later, 9 was replaced by 13.
        let third = try await answer([12, 13, 14], cleared: [14]) {
            ($0.through, $0.announcedThrough, $0.isEnd) = (14, 11, true)
        }
        #expect(third.request.order == .changes(after: 8, announcedAfter: 11, isWaiting: false))
        #expect(third.request.epoch == 5 && third.events == ["13", "14 cleared", "up to date at 5 14"])
        #expect(cursor.request.order == .changes(after: 14, announcedAfter: 11, isWaiting: true))
    }

    @Test mutating func `a page may contain all stored and announced values`() async throws {
        let all = try await answer([3, 4], ephemeral: [4]) {
            ($0.isEnd, $0.committedThrough, $0.announcedThrough) = (true, 3, 4)
            $0.through = Self.lastStored + 1
        }
        #expect(all.events == ["3", "4"] && cursor.isUpToDate)
        #expect(cursor.request.order == .changes(after: 3, announcedAfter: 4, isWaiting: false))
    }

    @Test mutating func `announced values are read in pages`() async throws {
        let first = try await answer([3]) { ($0.through, $0.lastKey) = (Self.lastStored + 1, Self.lastStored + 2) }
        #expect(first.events == ["3"])
        let second = try await answer([4]) { ($0.through, $0.isEnd) = (Self.lastStored + 2, true) }
        #expect(second.request.order == .keys(after: Self.lastStored + 1, through: Self.lastStored + 2))
        #expect(cursor.isUpToDate)
    }

    @Test mutating func `announced values end with the run of the daemon, and are read again`() async throws {
        try await begin()
        let first = try await answer([4], ephemeral: [4]) {
            ($0.through, $0.announcedThrough, $0.run, $0.isEnd) = (3, 4, 70, true)
        }
        #expect(first.events == ["4", "up to date at 5 3"])
        #expect(cursor.request.order == .changes(after: 3, announcedAfter: 4, isWaiting: true))
        #expect(cursor.request.run == 70)
        let reset = try await answer([]) { ($0.isAnnouncedReset, $0.run, $0.through) = (true, 71, 3) }
        #expect(reset.events == ["4 disconnected"])
        #expect(cursor.request.order == .keys(after: Self.lastStored, through: .max))
        let again = try await answer([6], ephemeral: [6]) {
            ($0.isEnd, $0.run, $0.announcedThrough) = (true, 71, 6)
        }
        #expect(again.events == ["6"])
        #expect(cursor.request.order == .changes(after: 3, announcedAfter: 6, isWaiting: true))
        #expect(cursor.request.run == 71)
        // The daemon was restarted while announced values were read.
        _ = try await answer([]) { ($0.isAnnouncedReset, $0.run) = (true, 72) }
        _ = try await answer([8], ephemeral: [8]) {
            ($0.through, $0.lastKey, $0.run) = (Self.lastStored + 1, Self.lastStored + 2, 72)
        }
        #expect(try await answer([9], ephemeral: [9]) { $0.run = 73 }.events == ["8 disconnected"])
        #expect(cursor.request.order == .keys(after: Self.lastStored, through: .max))
    }

    @Test mutating func `the end of an announced value that was not reported is left out`() async throws {
        try await begin()
        let page: (inout ValuePage) -> Void = { ($0.isEnd, $0.through, $0.run) = (true, 3, 70) }
        _ = try await answer([], page)
        #expect(try await answer([7], reason: .disconnected, cleared: [7], page).events.isEmpty)
        #expect(try await answer([8], ephemeral: [8], page).events == ["8"])
        #expect(try await answer([9], reason: .released, cleared: [9], page).events == ["9 released"])
        #expect(try await answer([10], reason: .released, cleared: [10], page).events.isEmpty)
        // A stored value in its place makes it a stored one.
        #expect(try await answer([11], ephemeral: [11], page).events == ["11"])
        #expect(try await answer([12], page).events == ["12"])
        let reset = try await answer([]) { ($0.isAnnouncedReset, $0.run) = (true, 71) }
        #expect(reset.events.isEmpty)
    }

    @Test mutating func `the clear of a stored value is left out after the announced value that follows`() async throws
    {
        _ = try await answer([3, 9], ephemeral: [9]) {
            ($0.isEnd, $0.committedThrough, $0.announcedThrough) = (true, 3, 9)
            $0.through = Self.lastStored + 1
        }
        let changes = try await answer([5], cleared: [5]) { ($0.through, $0.announcedThrough) = (5, 9) }
        #expect(changes.events == ["up to date at 5 5"])
    }

    @Test mutating func `that clear is left out, too, if the announced value has ended with the daemon`() async throws {
        _ = try await answer([3, 9], ephemeral: [9]) {
            ($0.isEnd, $0.committedThrough, $0.announcedThrough, $0.run) = (true, 3, 9, 70)
            $0.through = Self.lastStored + 1
        }
        #expect(try await answer([]) { ($0.isAnnouncedReset, $0.run) = (true, 71) }.events == ["9 disconnected"])
        _ = try await answer([]) { ($0.isEnd, $0.run, $0.committedThrough, $0.through) = (true, 71, 5, .max) }
        let changes = try await answer([5], cleared: [5]) { ($0.through, $0.run) = (5, 71) }
        #expect(changes.events == ["up to date at 5 5"])
        #expect(try await answer([11], cleared: [11]) { ($0.through, $0.run) = (11, 71) }.events == ["11 cleared"])
    }

    @Test mutating func `after a reset, and in another epoch, everything is read again`() async throws {
        let all = ReadValues.Order.keys(after: 0, through: .max)
        _ = try await answer([3]) { ($0.isEnd, $0.committedThrough) = (true, 3) }
        #expect(try await answer([]) { $0.isReset = true }.events == ["reset"])
        #expect(cursor.request.order == all && cursor.request.epoch == 0)
        #expect(try await answer([4]) { ($0.through, $0.lastKey) = (1, 9) }.events == ["4"])
        #expect(try await answer([5]) { $0.epoch = 6 }.events == ["reset"])
        #expect(cursor.request.order == all)
    }

    @Test mutating func `a watch continues at the position of an earlier one`() async throws {
        cursor = try ValueCursor(["a.>"], object: "", isWatch: true, from: .init(epoch: 5, sequence: 40))
        let announced = try await answer([39], ephemeral: [39]) {
            ($0.isEnd, $0.announcedThrough, $0.committedThrough) = (true, 39, 45)
        }
        #expect(announced.request.order == .keys(after: Self.lastStored, through: .max))
        #expect(announced.events == ["39"] && announced.request.object == "")
        #expect(cursor.request.order == .changes(after: 40, announcedAfter: 39, isWaiting: false))
        #expect(cursor.request.epoch == 5)
        let page = try await answer([41]) {
            ($0.through, $0.damaged, $0.announcedThrough, $0.committedThrough) = (41, 2, 39, 60)
        }
        #expect(page.events == ["damaged 2", "41"])
        let last = try await answer([42]) {
            ($0.through, $0.announcedThrough, $0.committedThrough) = (45, 39, 70)
        }
        #expect(last.events == ["42", "up to date at 5 45"])
        #expect(cursor.request.order == .changes(after: 45, announcedAfter: 39, isWaiting: true))
    }

    @Test mutating func `the mark needs the changes up to the end of the keys, of stored and of announced values`()
        async throws
    {
        _ = try await answer([3]) { ($0.through, $0.lastKey, $0.committedThrough) = (1, 2, 3) }
        _ = try await answer([4]) { ($0.isEnd, $0.committedThrough) = (true, 7) }
        _ = try await answer([]) { ($0.isEnd, $0.committedThrough, $0.announcedThrough) = (true, 9, 8) }
        func changes(_ through: UInt64, _ announced: UInt64) async throws -> [String] {
            try await answer([]) {
                ($0.through, $0.announcedThrough, $0.committedThrough) = (through, announced, 50)
            }.events
        }
        #expect(try await changes(8, 8).isEmpty)
        #expect(try await changes(9, 7).isEmpty)
        #expect(try await changes(10, 8) == ["up to date at 5 10"])
    }

    @Test mutating func `a watch that stays behind reads the changed values by key, each state once`() async throws {
        try await begin()
        func changes(_ sequences: [UInt64], through: UInt64, of end: UInt64) async throws -> [String] {
            try await answer(sequences) { ($0.through, $0.committedThrough, $0.run) = (through, end, 70) }.events
        }
        #expect(try await changes([4], through: 4, of: 4) == ["4", "up to date at 5 4"])
        #expect(try await changes([5], through: 5, of: 9) == ["5"])
        #expect(try await changes([6], through: 8, of: 20) == ["6"])
        let behind = ReadValues.Order.changes(after: 8, announcedAfter: 0, isWaiting: true)
        #expect(cursor.request.order == behind)
        // The end at which it fell behind is reached, and there is a later one.
        #expect(try await changes([9], through: 9, of: 30) == ["9"])
        #expect(cursor.request.order == .keys(after: 0, through: Self.lastStored))
        let first = try await answer([2, 25]) {
            ($0.through, $0.lastKey, $0.committedThrough, $0.run, $0.damaged) = (7, 12, 40, 70, 2)
        }
        #expect(first.events == ["25"], "damaged values were reported when all were read")
        let second = try await answer([31, 8]) { ($0.through, $0.lastKey, $0.isEnd, $0.run) = (12, 12, true, 70) }
        #expect(second.request.order == .keys(after: 7, through: 12) && second.events == ["31"])
        #expect(cursor.request.order == .changes(after: 9, announcedAfter: 0, isWaiting: true))
        #expect(try await changes([25, 26], through: 26, of: 50) == ["26"])
        #expect(try await changes([31, 50], through: 50, of: 50) == ["50"])
    }

    @Test func `patterns are checked`() {
        #expect(throws: NotifyError.self) { try ValueCursor([], object: nil) }
        #expect(throws: NotifyError.self) { try ValueCursor(["a..b"], object: nil) }
    }
}

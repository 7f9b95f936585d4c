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

    @Test mutating func `all keys are read up to the last one of the first page, and then changes`() async throws {
        let last = ReadValues.lastStoredKey
        let first = try await answer([3, 9]) { ($0.through, $0.lastKey, $0.changesAfter) = (2, 7, 8) }
        #expect(first.request.order == .keys(after: 0, through: last) && first.events == ["3", "9"])
        #expect(!cursor.isUpToDate)
        let second = try await answer([12]) {
            ($0.through, $0.lastKey, $0.changesAfter, $0.isEnd) = (7, 99, 77, true)
        }
        #expect(second.request.order == .keys(after: 2, through: 7) && second.events == ["12"])
        // 9 and 12 were read by key. 12 comes again later, 9 was replaced by 13.
        let third = try await answer([12, 13, 14], cleared: [14]) { ($0.through, $0.isEnd) = (14, true) }
        #expect(third.request.order == .changes(after: 8, announcedAfter: 0, isWaiting: false))
        #expect(third.request.epoch == 5 && third.events == ["13", "14 cleared", "up to date at 5 14"])
        #expect(cursor.request.order == .changes(after: 14, announcedAfter: 0, isWaiting: true))
    }

    @Test mutating func `without changes, announced values are read by key after the stored ones`() async throws {
        cursor = try ValueCursor(["a.>"], object: nil)
        let last = ReadValues.lastStoredKey
        let first = try await answer([3]) { ($0.through, $0.lastKey) = (2, 7) }
        #expect(first.request.order == .keys(after: 0, through: .max))
        let second = try await answer([4]) { ($0.through, $0.isEnd) = (7, true) }
        #expect(second.request.order == .keys(after: 2, through: 7) && !cursor.isUpToDate)
        let third = try await answer([5]) { ($0.through, $0.lastKey) = (last + 1, last + 2) }
        #expect(third.request.order == .keys(after: last, through: .max))
        let fourth = try await answer([6]) { ($0.through, $0.isEnd) = (last + 2, true) }
        #expect(fourth.request.order == .keys(after: last + 1, through: last + 2) && cursor.isUpToDate)
        cursor = try ValueCursor(["a"], object: nil)
        _ = try await answer([3]) { ($0.through, $0.isEnd) = (last + 1, true) }
        #expect(cursor.isUpToDate, "the first page contained everything")
    }

    @Test mutating func `announced values end with the run of the daemon`() async throws {
        _ = try await answer([]) { ($0.isEnd, $0.changesAfter) = (true, 3) }
        let first = try await answer([4], ephemeral: [4]) {
            ($0.through, $0.announcedThrough, $0.run, $0.isEnd) = (3, 4, 70, true)
        }
        #expect(first.events == ["4", "up to date at 5 3"])
        #expect(cursor.request.order == .changes(after: 3, announcedAfter: 4, isWaiting: true))
        #expect(cursor.request.run == 70)
        let reset = try await answer([]) { ($0.isAnnouncedReset, $0.run, $0.through) = (true, 71, 3) }
        #expect(reset.events == ["4 disconnected"])
        #expect(cursor.request.order == .changes(after: 3, announcedAfter: 0, isWaiting: true))
        #expect(cursor.request.run == 71)
        let again = try await answer([]) { ($0.isAnnouncedReset, $0.run, $0.through) = (true, 72, 3) }
        #expect(again.events.isEmpty)
    }

    @Test mutating func `the end of an announced value that was not reported is left out`() async throws {
        _ = try await answer([]) { ($0.isEnd, $0.changesAfter) = (true, 3) }
        _ = try await answer([]) { ($0.isEnd, $0.through) = (true, 3) }
        #expect(try await answer([7], reason: .disconnected, cleared: [7]).events.isEmpty)
        #expect(try await answer([8], ephemeral: [8]).events == ["8"])
        #expect(try await answer([9], reason: .released, cleared: [9]).events == ["9 released"])
        #expect(try await answer([10], reason: .released, cleared: [10]).events.isEmpty)
        // A stored value in its place makes it a stored one.
        #expect(try await answer([11], ephemeral: [11]).events == ["11"])
        #expect(try await answer([12]).events == ["12"])
        let reset = try await answer([]) { ($0.isAnnouncedReset, $0.run) = (true, 71) }
        #expect(reset.events.isEmpty)
    }

    @Test mutating func `after a reset, and in another epoch, everything is read again`() async throws {
        let all = ReadValues.Order.keys(after: 0, through: ReadValues.lastStoredKey)
        _ = try await answer([3]) { ($0.isEnd, $0.changesAfter) = (true, 3) }
        #expect(try await answer([]) { $0.isReset = true }.events == ["reset"])
        #expect(cursor.request.order == all && cursor.request.epoch == 0)
        #expect(try await answer([4]) { ($0.through, $0.lastKey) = (1, 9) }.events == ["4"])
        #expect(try await answer([5]) { $0.epoch = 6 }.events == ["reset"])
        #expect(cursor.request.order == all)
    }

    @Test mutating func `a watch continues at the position of an earlier one`() async throws {
        cursor = try ValueCursor(["a.>"], object: "", isWatch: true, from: .init(epoch: 5, sequence: 40))
        #expect(cursor.request.order == .changes(after: 40, announcedAfter: 0, isWaiting: false))
        #expect(cursor.request.epoch == 5 && cursor.request.object == "")
        let page = try await answer([41], { ($0.through, $0.damaged) = (41, 2) })
        #expect(page.events == ["damaged 2", "41"])
        let last = try await answer([42], { ($0.through, $0.isEnd) = (45, true) })
        #expect(last.events == ["42", "up to date at 5 45"])
        #expect(cursor.request.order == .changes(after: 45, announcedAfter: 0, isWaiting: true))
    }

    @Test func `patterns are checked`() {
        #expect(throws: NotifyError.self) { try ValueCursor([], object: nil) }
        #expect(throws: NotifyError.self) { try ValueCursor(["a..b"], object: nil) }
    }
}

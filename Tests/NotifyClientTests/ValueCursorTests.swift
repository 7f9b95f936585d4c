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
        cursor = try ValueCursor(["a.>"], object: nil)
    }

    /// Answers the cursor's request with a page, and returns the request and the events.
    private mutating func answer(
        _ sequences: [UInt64], cleared: Set<UInt64> = [], _ change: (inout ValuePage) -> Void = { _ in }
    ) async throws -> (request: ReadValues, events: [String]) {
        let slot = harness.call(PageCall(cursor.request))
        let request: ReadValues = try #require(try harness.read().first).read()
        harness.receive { buffer in
            var page = ValuePage(request: request.request, count: UInt32(sequences.count), epoch: 5, through: 0)
            change(&page)
            page.write(to: &buffer)
            for sequence in sequences {
                buffer.writeDelivery(
                    sequence, headers: cleared.contains(sequence) ? ClearedHeader.encoded(.cleared) : [])
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
        let first = try await answer([3, 9]) { ($0.through, $0.lastKey, $0.changesAfter) = (2, 7, 8) }
        #expect(first.request.order == .keys(after: 0, through: .max) && first.events == ["3", "9"])
        #expect(!cursor.isUpToDate)
        let second = try await answer([12]) {
            ($0.through, $0.lastKey, $0.changesAfter, $0.isEnd) = (7, 99, 77, true)
        }
        #expect(second.request.order == .keys(after: 2, through: 7) && second.events == ["12", "up to date at 5 8"])
        // 9 and 12 were read by key. 12 comes again later, 9 was replaced by 13.
        let third = try await answer([12, 13, 14], cleared: [14]) { $0.through = 14 }
        #expect(third.request.order == .changes(after: 8, isWaiting: true) && third.request.epoch == 5)
        #expect(third.events == ["13", "14 cleared"])
        #expect(cursor.request.order == .changes(after: 14, isWaiting: true))
    }

    @Test mutating func `after a reset, and in another epoch, everything is read again`() async throws {
        _ = try await answer([3]) { ($0.isEnd, $0.changesAfter) = (true, 3) }
        #expect(try await answer([]) { $0.isReset = true }.events == ["reset"])
        #expect(cursor.request.order == .keys(after: 0, through: .max) && cursor.request.epoch == 0)
        #expect(try await answer([4]) { ($0.through, $0.lastKey) = (1, 9) }.events == ["4"])
        #expect(try await answer([5]) { $0.epoch = 6 }.events == ["reset"])
        #expect(cursor.request.order == .keys(after: 0, through: .max))
    }

    @Test mutating func `a watch continues at the position of an earlier one`() async throws {
        cursor = try ValueCursor(["a.>"], object: "", from: .init(epoch: 5, sequence: 40))
        #expect(cursor.request.order == .changes(after: 40, isWaiting: false))
        #expect(cursor.request.epoch == 5 && cursor.request.object == "")
        let page = try await answer([41], { ($0.through, $0.damaged) = (41, 2) })
        #expect(page.events == ["damaged 2", "41"])
        let last = try await answer([42], { ($0.through, $0.isEnd) = (45, true) })
        #expect(last.events == ["42", "up to date at 5 45"])
        #expect(cursor.request.order == .changes(after: 45, isWaiting: true))
    }

    @Test func `patterns are checked`() {
        #expect(throws: NotifyError.self) { try ValueCursor([], object: nil) }
        #expect(throws: NotifyError.self) { try ValueCursor(["a..b"], object: nil) }
    }
}

import Foundation
import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient

/// Requests for pages of the log, as `ClientMachine` handles them.
struct ClientMachineHistoryTests {
    /// Requests a page, and returns the request's number and the slot for the answer.
    private func request(
        _ harness: MachineHarness, isWaiting: Bool = false
    ) throws -> (request: UInt64, slot: ReplySlot<ReceivedLogPage>) {
        let slot = harness.call(PageCall(ReadLog(isWaiting: isWaiting, patterns: ["a"])))
        let frames = try harness.read()
        try #require(frames.map(\.kind) == [.readLog])
        let read: ReadLog = try frames[0].read()
        return (read.request, slot)
    }

    private func sequences(_ page: ReceivedLogPage) -> [UInt64] {
        page.contents.flatMap { $0.map(\.sequence) }
    }

    @Test func `a page may arrive in several reads, the last of which contains another frame`() async throws {
        let harness = try MachineHarness.ready()
        let (number, slot) = try request(harness)
        harness.receive { buffer in
            LogPage(request: number, count: 3, isEnd: false, through: 9).write(to: &buffer)
            buffer.writeDelivery(3)
        }
        harness.receive { $0.writeDelivery(5) }
        harness.receive { buffer in
            buffer.writeDelivery(9)
            LogPage(request: 99, count: 0, isEnd: true, through: 0).write(to: &buffer)
        }
        let page = try await slot.wait()
        #expect(sequences(page) == [3, 5, 9])
        #expect(page.header.through == 9 && page.gaps.isEmpty)
    }

    @Test func `a page without messages completes its request at once`() async throws {
        let harness = try MachineHarness.ready()
        let (number, slot) = try request(harness)
        harness.receive { buffer in
            LogPage(
                request: number, count: 0, isEnd: true, through: 7, damaged: 2,
                damagedRange: SequenceRange(first: 3, last: 6)
            ).write(to: &buffer)
        }
        let page = try await slot.wait()
        #expect(page.contents.flatMap(\.gaps).map(\.sequences) == [3...6])
        #expect(sequences(page).isEmpty)
    }

    @Test func `a page reports messages deleted before it was read, and then damaged messages`() async throws {
        let harness = try MachineHarness.ready()
        let (number, slot) = try request(harness)
        harness.receive { buffer in
            LogPage(
                request: number, count: 0, isEnd: false, through: 30, damaged: 2,
                damagedRange: SequenceRange(first: 3, last: 6),
                deleted: .init(messages: 7, isUpperBound: false, range: SequenceRange(first: 10, last: 20))
            ).write(to: &buffer)
        }
        let gaps = try await slot.wait().contents.flatMap(\.gaps)
        #expect(gaps.map(\.reason) == [.deleted, .damaged] && gaps[0].sequences == 10...20)
        #expect(gaps[0].missed == 7 && !gaps[0].isUpperBound)
        #expect(gaps[0].description == "lost 7 messages (10–20): the daemon no longer keeps them")
    }

    @Test func `requests after the first page ask for the deletions since that page`() throws {
        let query = try LogQuery(patterns: ["a"], object: nil, from: .oldest, to: nil, limit: nil, follows: true)
        var cursor = LogCursor(query, from: Found(request: 1, sequence: 1, last: 20), to: nil)
        #expect(cursor.request.deletionMark == 0)
        cursor.received(LogPage(request: 1, count: 2, isEnd: false, through: 7, deletionMark: 500))
        #expect(cursor.request.deletionMark == 500)
        cursor.received(LogPage(request: 1, count: 2, isEnd: false, through: 9, deletionMark: 600))
        #expect(cursor.request.deletionMark == 500)
        // A reader that begins at a sequence or a time gets all known deletions.
        for start in [.sequence(18), .age(.seconds(5))] as [NotificationClient.Start] {
            let next = try LogQuery(
                patterns: ["a"], object: nil, from: start, to: nil, limit: nil, follows: false)
            let cursor = LogCursor(next, from: Found(request: 1, sequence: 18, last: 20), to: nil)
            #expect(cursor.request.deletionMark == ReadLog.allDeletions)
        }
    }

    @Test(arguments: [false, true])
    func `cancelling a request sends EndRead only if the request waits`(_ isWaiting: Bool) async throws {
        let harness = try MachineHarness.ready()
        let (number, slot) = try request(harness, isWaiting: isWaiting)
        let error = harness.process { machine, _ in machine.cancelCall(slot) }
        #expect(error.code == NotifyError.cancelledInFlight.code)
        let frames = try harness.read()
        #expect(frames.map(\.kind) == (isWaiting ? [.endRead] : []))
        if isWaiting {
            let end: EndRead = try frames[0].read()
            #expect(end.request == number)
        }
        harness.receive { LogPage(request: number, count: 0, isEnd: true, through: 0).write(to: &$0) }
        #expect(harness.channel != .close)
    }

    @Test func `a page that a lost connection cuts short is discarded`() async throws {
        let harness = try MachineHarness.ready()
        let (number, slot) = try request(harness)
        harness.receive { buffer in
            LogPage(request: number, count: 2, isEnd: true, through: 9).write(to: &buffer)
            buffer.writeDelivery(3)
        }
        harness.disconnect()
        await #expect(throws: NotifyError.self) { try await slot.wait() }
    }

    @Test func `a page that no request asked for violates the protocol`() throws {
        let harness = try MachineHarness.ready()
        harness.receive { LogPage(request: 9, count: 1, isEnd: true, through: 9).write(to: &$0) }
        #expect(harness.channel == .close)
    }

    @Test func `the next page begins after the previous one, within the limit`() throws {
        let query = try LogQuery(
            patterns: ["a"], object: nil, from: .oldest, to: .sequence(50), limit: 5, follows: false)
        var cursor = LogCursor(query, from: Found(request: 1, sequence: 1, last: 20), to: nil)
        #expect(cursor.request.first == 1 && cursor.request.last == 20 && cursor.request.maximumMessages == 5)
        cursor.received(LogPage(request: 1, count: 2, isEnd: false, through: 7))
        #expect(cursor.request.first == 8 && cursor.request.maximumMessages == 3 && !cursor.isAtEnd)
        var limited = cursor
        limited.received(LogPage(request: 1, count: 3, isEnd: false, through: 9))
        #expect(limited.isAtEnd)
        cursor.received(LogPage(request: 1, count: 0, isEnd: true, through: 20))
        #expect(cursor.isAtEnd)
    }

    @Test func `in descending order, the next page ends before the previous one`() throws {
        let query = try LogQuery(
            patterns: ["a"], object: nil, from: .oldest, to: nil, limit: 5, follows: false, order: .newestFirst)
        var cursor = LogCursor(query, from: Found(request: 1, sequence: 1, last: 20), to: nil)
        #expect(cursor.request.first == 1 && cursor.request.last == 20 && cursor.request.isDescending)
        cursor.received(LogPage(request: 1, count: 2, isEnd: false, through: 13))
        #expect(cursor.request.first == 1 && cursor.request.last == 12 && cursor.request.maximumMessages == 3)
        cursor.received(LogPage(request: 1, count: 0, isEnd: true, through: 1))
        #expect(cursor.isAtEnd)
        #expect(throws: NotifyError.self) {
            try LogQuery(
                patterns: ["a"], object: nil, from: .oldest, to: nil, limit: nil, follows: true, order: .newestFirst)
        }
    }

    @Test func `a reading that follows the log has no end`() throws {
        let start = Found(request: 1, sequence: 21, last: 20)
        let endless = try LogQuery(patterns: ["a"], object: nil, from: .now, to: nil, limit: nil, follows: true)
        var cursor = LogCursor(endless, from: start, to: nil)
        cursor.received(LogPage(request: 1, count: 1, isEnd: true, through: 30))
        #expect(!cursor.isAtEnd && cursor.request.first == 31 && cursor.request.isWaiting)
        for end in [.now, .sequence(30), .age(.zero), .time(Date())] as [NotificationClient.Start] {
            #expect(throws: NotifyError.self) {
                try LogQuery(patterns: ["a"], object: nil, from: .now, to: end, limit: nil, follows: true)
            }
        }
    }
}

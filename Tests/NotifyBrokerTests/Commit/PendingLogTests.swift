import NotifyLog
import NIOCore
@testable import NotifyBroker
import NotifyCenter
import NotifyWire
import Testing
import WireTestSupport

struct PendingLogTests {
    private func append(_ sequence: UInt64, to log: inout PendingLog, size: Int = 10) -> (start: Int, end: Int) {
        withParts(name: Array("a".utf8), payload: Array(repeating: 1, count: size)) {
            log.append(stamp(sequence), $0, .empty)
        }
    }

    @Test func `messages are contiguous in the open block`() {
        var log = PendingLog()
        #expect(!log.isRequested)
        let first = append(4, to: &log)
        let second = append(9, to: &log, size: 20)
        #expect(log.isRequested)
        #expect(first.start == 0)
        #expect(first.end == second.start)
        #expect(log.bytes > second.end)
        #expect(log.open.block.entries.map(\.sequence) == [4, 9])
        #expect(log.open.resolutions.count == 2)
        #expect(log.open.block.entries.map { Int($0.offset) } == [first.start, second.start])
    }

    @Test func `a sealed block does not grow`() {
        var log = PendingLog()
        let first = append(4, to: &log)
        let bytes = log.sealOpenBlock()
        #expect(bytes.readableBytes == first.end)
        let second = append(5, to: &log)
        #expect(second.start == 0, "a new block begins")
        #expect(log.sealed.map { $0.block.entries.map(\.sequence) } == [[4]])
        #expect(bytes.readableBytes == first.end)
        _ = log.sealOpenBlock()
        #expect(log.sealed.map { $0.block.entries.map(\.sequence) } == [[4], [5]])
    }

    @Test func `sealing an empty block adds nothing`() {
        var log = PendingLog()
        #expect(log.sealOpenBlock().readableBytes == 0)
        #expect(log.sealed.isEmpty)
        _ = append(1, to: &log)
        _ = log.sealOpenBlock()
        #expect(log.sealOpenBlock().readableBytes == 0)
        #expect(log.sealed.count == 1)
    }

    @Test func `a batch has the last sequence and the number of its messages`() {
        var log = PendingLog()
        #expect(InFlightBatch(id: 1, log: log, progressOf: [], reserveBelow: nil, started: .zero).lastSequence == nil)
        _ = append(4, to: &log)
        _ = log.sealOpenBlock()
        _ = append(6, to: &log)
        _ = append(8, to: &log)
        _ = log.sealOpenBlock()
        let batch = InFlightBatch(id: 1, log: log, progressOf: [], reserveBelow: nil, started: .zero)
        #expect(batch.lastSequence == 8)
        #expect(batch.messageCount == 3)
    }
}

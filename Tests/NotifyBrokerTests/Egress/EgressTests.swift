import NIOCore
import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct EgressTests {
    private let slot = ConnectionSlot(0)
    private let reader = ReaderID(slot: 0, generation: 0)

    private func egress() -> Egress {
        var egress = Egress()
        egress.open(slot)
        return egress
    }

    private func destination(_ subscription: UInt32 = 1, isRedelivery: Bool = false) -> OpenRun.Destination {
        OpenRun.Destination(connection: slot, subscription: subscription, isRedelivery: isRedelivery)
    }

    /// Seals the messages of the tick, and returns the frames for the connection: a run frame as its count, a deliver
    /// frame as nil.
    private func runs(_ egress: inout Egress) throws -> [UInt32?] {
        egress.closeRuns()
        _ = egress.seal()
        var runs: [UInt32?] = []
        while let bytes = egress[slot].next() {
            try bytes.withUnsafeReadableBytes { bytes in
                var used = 0
                let decoder = FrameDecoder(maximumBodyBytes: 1 << 20)
                while let frame = try decoder.next(in: UnsafeRawBufferPointer(rebasing: bytes[used...])) {
                    used += frame.size
                    runs.append(frame.kind == FrameKind.deliver.rawValue ? nil : try Run(frame).count)
                }
            }
        }
        return runs
    }

    @Test func `adjacent messages of one source form one run`() throws {
        var egress = egress()
        let block = logBlock([1, 2, 3])
        let source = egress.addSource(block.frames)
        egress.extendRun(of: reader, with: OpenRun.Frames(block.entries[0]), in: source, to: destination())
        egress.extendRun(of: reader, with: OpenRun.Frames(block.entries[1...]), in: source, to: destination())
        #expect(try runs(&egress) == [3, nil, nil, nil])
    }

    @Test func `a skipped message splits the run`() throws {
        var egress = egress()
        let block = logBlock([1, 2, 3])
        let source = egress.addSource(block.frames)
        for entry in [block.entries[0], block.entries[2]] {
            egress.extendRun(of: reader, with: OpenRun.Frames(entry), in: source, to: destination())
        }
        #expect(try runs(&egress) == [1, nil, 1, nil])
    }

    @Test func `redeliveries form separate runs and are counted`() throws {
        var egress = egress()
        let block = logBlock([1, 2, 3])
        let source = egress.addSource(block.frames)
        for entry in block.entries {
            egress.extendRun(
                of: reader, with: OpenRun.Frames(entry), in: source, to: destination(isRedelivery: entry.sequence < 3))
        }
        egress.closeRuns()
        let counts = egress.seal()
        #expect(counts.delivered == 3 && counts.redelivered == 2)
        let next = egress.seal()
        #expect(next.delivered == 0 && next.redelivered == 0)
    }

    @Test func `readers of one connection have separate runs`() throws {
        var egress = egress()
        let block = logBlock([1, 2])
        let source = egress.addSource(block.frames)
        for entry in block.entries {
            egress.extendRun(of: reader, with: OpenRun.Frames(entry), in: source, to: destination(1))
            egress.extendRun(
                of: ReaderID(slot: 1, generation: 0), with: OpenRun.Frames(entry), in: source, to: destination(2))
        }
        #expect(try runs(&egress) == [2, nil, nil, 2, nil, nil])
    }

    @Test func `a connection that is touched twice is flushed once`() {
        var egress = egress()
        var connections = Connections()
        let id = connections.open(Peer(uid: 1, gid: 1, pid: 1), identity: .test, greetingDeadline: .zero)
        egress.append(Pong(request: 1), to: slot)
        egress.append(Pong(request: 2), to: slot)
        _ = egress.seal()
        #expect(egress.nextToFlush(connections) == id)
        #expect(egress.nextToFlush(connections) == nil)
        egress.touch(slot)
        _ = egress.seal()
        connections.remove(slot)
        #expect(egress.nextToFlush(connections) == nil, "the connection was closed in the meantime")
    }

    @Test func `discarded frames are not sent`() throws {
        var egress = egress()
        egress.append(Pong(request: 1), to: slot)
        egress.discard(slot)
        #expect(try runs(&egress) == [])
        #expect(egress[slot].isEmpty)
    }
}

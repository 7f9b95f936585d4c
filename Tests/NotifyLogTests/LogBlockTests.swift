import NIOCore
import NotifyLog
import NotifyWire
import Testing
import WireTestSupport

@Suite struct LogBlockTests {
    @Test func `the messages of a block are read in place`() throws {
        var block = LogBlock()
        for sequence in UInt64(5)...7 {
            let offset = UInt32(block.frames.readableBytes)
            let length = withParts(name: "n\(sequence)") { parts in
                Delivery.append(
                    Stamp(sequence: sequence, timeMicroseconds: 0, uid: 0, gid: 0, pid: 0), parts, to: &block.frames)
            }
            block.entries.append(.init(sequence: sequence, offset: offset, length: UInt32(length)))
        }
        for entry in block.entries {
            block.withMessage(entry) { message in
                #expect(message.stamp.sequence == entry.sequence)
                #expect(Array(message.parts.name) == Array("n\(entry.sequence)".utf8))
            }
        }
    }
}

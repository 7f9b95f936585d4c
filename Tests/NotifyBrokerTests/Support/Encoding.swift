import NIOCore
import NotifyLog
import NotifyWire
import WireTestSupport

func stamp(_ sequence: UInt64) -> Stamp {
    Stamp(sequence: sequence, timeMicroseconds: 0, uid: 0, gid: 0, pid: 0)
}

/// Returns one deliver frame.
func deliverFrame(_ sequence: UInt64, name: String = "a", object: String = "", size: Int = 0) -> ByteBuffer {
    var buffer = ByteBuffer()
    withParts(name: name, object: object, payload: Array(repeating: 7, count: size)) {
        _ = Delivery.append(stamp(sequence), $0, to: &buffer)
    }
    return buffer
}

/// Returns a block of the log with one message for each sequence.
func logBlock(_ sequences: [UInt64], name: String = "a", size: Int = 0) -> LogBlock {
    var block = LogBlock()
    for sequence in sequences {
        var frame = deliverFrame(sequence, name: name, size: size)
        block.entries.append(
            LogBlock.Entry(
                sequence: sequence, offset: UInt32(block.frames.writerIndex), length: UInt32(frame.readableBytes)))
        block.frames.writeBuffer(&frame)
    }
    return block
}

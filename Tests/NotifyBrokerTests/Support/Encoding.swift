import NIOCore
import NotifyWire

extension ControlFrame {
    /// The whole frame as it goes out.
    var encoded: [UInt8] {
        var buffer = ByteBuffer()
        write(to: &buffer)
        return Array(buffer.readableBytesView)
    }
}

/// A frame of any kind around `body`, its length right.
func rawFrame(_ kind: UInt8, flags: UInt8 = 0, _ body: [UInt8] = []) -> [UInt8] {
    let length = UInt32(body.count)
    return (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [kind, flags, 0, 0] + body
}

/// Calls `body` with message parts that point at copies of what is given.
func withParts<Result>(
    name: [UInt8], object: [UInt8] = [], messageID: [UInt8] = [], headers: [UInt8] = [], payload: [UInt8] = [],
    _ body: (MessageParts) throws -> Result
) rethrows -> Result {
    try name.withUnsafeBytes { name in
        try object.withUnsafeBytes { object in
            try messageID.withUnsafeBytes { messageID in
                try headers.withUnsafeBytes { headers in
                    try payload.withUnsafeBytes { payload in
                        try body(
                            MessageParts(
                                name: name, object: object, messageID: messageID, headers: headers, payload: payload))
                    }
                }
            }
        }
    }
}

func stamp(_ sequence: UInt64) -> Stamp {
    Stamp(sequence: sequence, timeMicroseconds: 0, uid: 0, gid: 0, pid: 0)
}

/// One deliver frame.
func deliverFrame(_ sequence: UInt64, name: String = "a", object: String = "", size: Int = 0) -> ByteBuffer {
    var buffer = ByteBuffer()
    withParts(name: Array(name.utf8), object: Array(object.utf8), payload: Array(repeating: 7, count: size)) {
        _ = Deliver.append(stamp(sequence), $0, to: &buffer)
    }
    return buffer
}

/// A block of the log with a message for each sequence.
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

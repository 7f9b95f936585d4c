import NotifyWire
import WireTestSupport

/// A block of posts that is encoded once. Before each use, only the numbers in the posts are overwritten.
struct PostBlock {
    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private let payloadOffsets: [Int]

    /// Encodes one post for each name.
    ///
    /// - Parameter payload: The payload size in bytes. If it is at least eight, `numbered` can store a number in the
    ///   first eight bytes.
    init(names: [String], payload: Int, durability: Durability = .volatile, receipt: Bool = false) {
        var payloadOffsets: [Int] = []
        for name in names {
            offsets.append(bytes.count)
            payloadOffsets.append(bytes.count + FrameHeader.size + Post.fixedSize + name.utf8.count)
            bytes += postFrame(
                0, name: Array(name.utf8), payload: [UInt8](repeating: 7, count: payload), durability,
                receipt: receipt)
        }
        self.payloadOffsets = payloadOffsets
    }

    var count: Int { offsets.count }

    /// The encoded bytes of the first `count` posts.
    ///
    /// - Parameters:
    ///   - request: The request number of the first post. The other posts have the numbers that follow.
    ///   - number: The number at the start of the first payload. The other payloads have the numbers that follow. Must
    ///     be `nil` if payloads have fewer than eight bytes.
    mutating func numbered(_ count: Int, request: UInt64, number: UInt64? = nil) -> ArraySlice<UInt8> {
        let offsets = offsets
        let payloadOffsets = payloadOffsets
        bytes.withUnsafeMutableBytes { bytes in
            for index in 0..<count {
                bytes.storeBytes(
                    of: (request + UInt64(index)).littleEndian, toByteOffset: offsets[index] + FrameHeader.size,
                    as: UInt64.self)
                guard let number else { continue }
                bytes.storeBytes(
                    of: (number + UInt64(index)).littleEndian, toByteOffset: payloadOffsets[index], as: UInt64.self)
            }
        }
        return bytes[..<(count == offsets.count ? bytes.count : offsets[count])]
    }

    /// Writes all posts to a connection.
    mutating func write(to connection: Connection) {
        connection.write(numbered(count, request: connection.newRequests(count)))
    }
}

/// Repeats one frame, up to a size in bytes.
enum Batch {
    static func of(_ frame: some ControlFrame, bytes: Int) -> [UInt8] { of(frame.encoded, bytes: bytes) }

    static func of(_ frame: [UInt8], bytes: Int) -> [UInt8] {
        var batch: [UInt8] = []
        batch.reserveCapacity(bytes)
        while batch.count + frame.count <= bytes { batch += frame }
        return batch
    }
}

import NotifyWire
import WireTestSupport

/// Posts without receipts, encoded once; only their numbers are written anew.
struct PostBlock {
    private var bytes: [UInt8] = []
    private var offsets: [Int] = []
    private let payloadOffsets: [Int]

    /// One post of each name.
    ///
    /// - Parameter payload: Bytes of each; the first eight hold the number that `numbered` is given.
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

    /// The bytes of the first so many posts.
    ///
    /// - Parameters:
    ///   - request: That of the first; the others follow.
    ///   - number: What the payload of the first begins with, likewise; nil where payloads are shorter.
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

    /// Writes all of it to a connection.
    mutating func write(to link: Link) {
        link.write(numbered(count, request: link.newRequests(count)))
    }
}

/// The same frame over and over.
enum Batch {
    static func of(_ frame: some ControlFrame, bytes: Int) -> [UInt8] { of(frame.encoded, bytes: bytes) }

    static func of(_ frame: [UInt8], bytes: Int) -> [UInt8] {
        var batch: [UInt8] = []
        batch.reserveCapacity(bytes)
        while batch.count + frame.count <= bytes { batch += frame }
        return batch
    }
}

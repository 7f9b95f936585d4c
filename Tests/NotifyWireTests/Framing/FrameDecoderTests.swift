import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct FrameDecoderTests {
    private let decoder = FrameDecoder(maximumBodyBytes: 100)
    private let three = [
        Ping(request: 1).encoded, Credit(subscription: 2, messages: 3).encoded, rawFrame(0xEE, flags: 7, []),
    ]

    /// Decodes the complete frames at the start of `bytes`.
    ///
    /// - Returns: The kinds of the frames, and the number of bytes that they occupy.
    private func frames(in bytes: [UInt8]) throws -> (kinds: [UInt8], consumed: Int) {
        var kinds: [UInt8] = []
        var consumed = 0
        while true {
            let size = try bytes[consumed...].withUnsafeBytes { rest in
                let frame = try decoder.next(in: rest)
                if let frame { kinds.append(frame.kind) }
                return frame?.size
            }
            guard let size else { return (kinds, consumed) }
            consumed += size
        }
    }

    @Test func `joined frames are returned one by one`() throws {
        let bytes = three.flatMap { $0 }
        let found = try frames(in: bytes)
        #expect(found.kinds == [0x08, 0x07, 0xEE])
        #expect(found.consumed == bytes.count)
    }

    @Test func `a frame split at any byte is returned once it is complete`() throws {
        let bytes = three.flatMap { $0 }
        let ends = three.reduce(into: [0]) { ends, frame in ends.append((ends.last ?? 0) + frame.count) }
        for cut in 0...bytes.count {
            let found = try frames(in: Array(bytes[..<cut]))
            #expect(found.consumed == ends.last { $0 <= cut }, "cut at \(cut)")
        }
    }

    @Test func `bytes that arrive one by one give the same frames`() throws {
        var kept: [UInt8] = []
        var kinds: [UInt8] = []
        for byte in three.flatMap({ $0 }) {
            kept.append(byte)
            let found = try frames(in: kept)
            kinds += found.kinds
            kept.removeFirst(found.consumed)
        }
        #expect(kinds == [0x08, 0x07, 0xEE])
        #expect(kept.isEmpty)
    }

    @Test func `a frame is read in place`() throws {
        try rawFrame(0x77, flags: 5, [9, 8, 7]).withUnsafeBytes { bytes in
            let frame = try #require(try decoder.next(in: bytes))
            #expect(frame.kind == 0x77)
            #expect(frame.flags == 5)
            #expect(frame.size == 11)
            #expect(Array(frame.body) == [9, 8, 7])
            #expect(frame.body.baseAddress == bytes.baseAddress.map { $0 + FrameHeader.size })
        }
    }

    @Test(arguments: [99, 100])
    func `a body up to the limit is accepted`(_ count: Int) throws {
        #expect(try frames(in: rawFrame(1, Array(repeating: 0, count: count))).kinds == [1])
    }

    @Test(arguments: [101, 1 << 16, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF])
    func `a longer body is refused once its header is complete`(_ length: Int) throws {
        let header = (0..<4).map { UInt8(truncatingIfNeeded: length >> (8 * $0)) } + [1, 0, 0, 0]
        let error = try #require(throws: WireError.self) { try frames(in: header) }
        #expect(error.code == .frameTooLarge)
        #expect(error.message.contains("\(length)"))
        #expect(error.message.contains("100"))
    }

    @Test func `no frame is returned before its header is complete`() throws {
        #expect(try frames(in: Array(repeating: 0xFF, count: 7)).kinds.isEmpty)
    }
}

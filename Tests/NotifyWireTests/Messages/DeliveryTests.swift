import NIOCore
import NotifyWire
import Testing
import WireTestSupport

@Suite struct DeliveryTests {
    private let stamp = Stamp(sequence: 1 << 52, timeMicroseconds: 1_700_000_000_000_001, uid: 1000, gid: 0, pid: .max)

    private func encode(_ parts: MessageParts) -> [UInt8] {
        var buffer = ByteBuffer()
        let size = Delivery.append(stamp, parts, to: &buffer)
        #expect(size == buffer.readableBytes)
        return Array(buffer.readableBytesView)
    }

    @Test func `a delivery is decoded as encoded`() throws {
        let headers = try HeaderList.encode([("k", "v")])
        let bytes = withParts(name: "n.m", object: "ob", messageID: "id1", headers: headers, payload: [1, 2, 3, 4]) {
            encode($0)
        }
        try withFrame(bytes) { frame in
            #expect(frame.kind == FrameKind.deliver.rawValue)
            #expect(frame.flags == 0)
            let delivery = try Delivery(reading: frame.body)
            #expect(delivery.stamp == stamp)
            #expect(Array(delivery.parts.name) == Array("n.m".utf8))
            #expect(Array(delivery.parts.object) == Array("ob".utf8))
            #expect(Array(delivery.parts.messageID) == Array("id1".utf8))
            #expect(Array(delivery.parts.headers) == headers)
            #expect(Array(delivery.parts.payload) == [1, 2, 3, 4])
            let base = try #require(frame.body.baseAddress)
            #expect(delivery.parts.name.baseAddress == base + Delivery.fixedSize)
        }
    }

    @Test func `frames are appended in sequence`() throws {
        var buffer = ByteBuffer()
        for index in 0..<3 {
            _ = withParts(name: "n\(index)", payload: Array(repeating: 1, count: index)) {
                Delivery.append(stamp, $0, to: &buffer)
            }
        }
        let decoder = FrameDecoder(maximumBodyBytes: 100)
        for index in 0..<3 {
            let size = try buffer.withUnsafeReadableBytes { bytes in
                let frame = try #require(try decoder.next(in: bytes))
                let delivery = try Delivery(reading: frame.body)
                #expect(Array(delivery.parts.name) == Array("n\(index)".utf8))
                #expect(delivery.parts.payload.count == index)
                return frame.size
            }
            buffer.moveReaderIndex(forwardBy: size)
        }
        #expect(buffer.readableBytes == 0)
    }

    @Test func `a delivery truncated before its payload is malformed`() throws {
        let whole = withParts(name: "n.m", object: "o", payload: [1, 2]) { encode($0) }
        let body = Array(whole[8...])
        for count in 0...body.count {
            let cut = Array(body[..<count])
            if count < body.count - 2 {
                #expect(throws: WireError.truncated, "cut at \(count)") {
                    try cut.withUnsafeBytes { _ = try Delivery(reading: $0) }
                }
            } else {
                #expect(try cut.withUnsafeBytes { try Delivery(reading: $0).parts.payload.count } == count - 40)
            }
        }
    }
}

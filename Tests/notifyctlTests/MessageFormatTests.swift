import NIOCore
import NotifyWire
import Testing

@testable import NotifyClient
@testable import notifyctl

@Suite struct MessageFormatTests {
    private func message(
        object: String = "", headers: [(key: String, value: String)] = [], payload: [UInt8] = [],
        isRedelivered: Bool = false
    ) throws -> NotifyClient.Message {
        var buffer = ByteBuffer()
        let stamp = Stamp(sequence: 7, timeMicroseconds: 1_000_001, uid: 1, gid: 2, pid: 3)
        let encoded = try HeaderList.encode(headers)
        Array("a.b".utf8).withUnsafeBytes { name in
            Array(object.utf8).withUnsafeBytes { object in
                encoded.withUnsafeBytes { headers in
                    payload.withUnsafeBytes { payload in
                        let parts = MessageParts(
                            name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                            headers: headers, payload: payload)
                        _ = Deliver.append(stamp, parts, to: &buffer)
                    }
                }
            }
        }
        let bytes = Array(buffer.readableBytesView.dropFirst(FrameHeader.size))
        let entry = MessageBatch.Entry(offset: 0, length: UInt32(bytes.count), isRedelivered: isRedelivered)
        let batch = MessageBatch(bytes: bytes, entries: [entry], byteCount: bytes.count)
        return NotifyClient.Message(batch: batch, index: 0)
    }

    private func text(_ format: MessageFormat, _ message: NotifyClient.Message) -> String {
        var bytes: [UInt8] = []
        format.append(message, to: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func `the payload stands alone, or behind the name`() throws {
        let message = try message(payload: Array("x\ny".utf8))
        #expect(text(.payload, message) == "x\ny\n")
        #expect(text(.nameAndPayload, message) == "a.b x\ny\n")
    }

    @Test func `an object has its keys in order`() throws {
        let text = try text(.json, message(headers: [("z", "1"), ("a", "2")], payload: Array("é".utf8)))
        #expect(
            text == #"{"seq":7,"name":"a.b","object":null,"time":"1970-01-01T00:00:01.000001Z","uid":1,"gid":2,"#
                + #""pid":3,"headers":{"z":"1","a":"2"},"redelivered":false,"payload":"é"}"# + "\n")
    }

    @Test func `bytes that are not UTF-8 come as base 64`() throws {
        let text = try text(.json, message(object: "o", payload: [0xFF, 0, 1], isRedelivered: true))
        #expect(text.hasSuffix(#""headers":{},"redelivered":true,"payload_base64":"/wAB"}"# + "\n"))
        #expect(text.contains(#""object":"o""#))
    }
}

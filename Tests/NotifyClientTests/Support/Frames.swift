import NIOCore
import NotifyWire

@testable import NotifyClient

extension ByteBuffer {
    /// Appends a deliver frame.
    mutating func writeDelivery(
        _ sequence: UInt64, _ name: String = "a.b", object: String = "", headers: [UInt8] = [], payload: String = ""
    ) {
        let stamp = Stamp(sequence: sequence, timeMicroseconds: 1_700_000_000_000_000, uid: 10, gid: 20, pid: 30)
        Array(name.utf8).withUnsafeBytes { name in
            Array(object.utf8).withUnsafeBytes { object in
                headers.withUnsafeBytes { headers in
                    Array(payload.utf8).withUnsafeBytes { payload in
                        let parts = MessageParts(
                            name: name, object: object, messageID: UnsafeRawBufferPointer(start: nil, count: 0),
                            headers: headers, payload: payload)
                        _ = Delivery.append(stamp, parts, to: &self)
                    }
                }
            }
        }
    }

    /// Appends a run of a durable subscription.
    mutating func writeRun(
        _ subscription: UInt32, _ sequences: [UInt64], isRedelivery: Bool = false, name: String = "a.b",
        delivery: UInt32 = 1
    ) {
        Run(
            subscription: subscription, count: UInt32(sequences.count), isRedelivery: isRedelivery, delivery: delivery
        ).write(to: &self)
        for sequence in sequences { writeDelivery(sequence, name, payload: "\(sequence)") }
    }
}

extension ByteBuffer {
}

/// Returns a batch of messages, encoded as in a single read.
func batch(_ sequences: [UInt64], payload: String = "") -> MessageBatch {
    var buffer = ByteBuffer()
    var entries: [MessageBatch.Entry] = []
    for sequence in sequences {
        let start = buffer.writerIndex + FrameHeader.size
        buffer.writeDelivery(sequence, payload: payload)
        entries.append(
            .init(offset: UInt32(start), length: UInt32(buffer.writerIndex - start), isRedelivered: false))
    }
    return MessageBatch(
        bytes: Array(buffer.readableBytesView), entries: entries, byteCount: buffer.readableBytes,
        acknowledgements: nil)
}

extension DeliveryBuffer.Taken {
    var sequences: [UInt64] { range.map { batch?.sequence($0) ?? 0 } }
}

extension NotificationClient.Configuration {
    /// A configuration for a manual clock.
    static var manual: Self {
        var configuration = Self(socketPath: "/nowhere")
        configuration.backoff = .milliseconds(1) ... .milliseconds(10)
        return configuration
    }

    /// A configuration for a real socket and the real clock. Its time limits are so long that none of them passes, even
    /// if a test's tasks are delayed.
    static func test(_ path: String) -> Self {
        var configuration = manual
        configuration.socketPath = path
        configuration.connectionWait = .seconds(600)
        configuration.closingTimeout = .seconds(600)
        configuration.requestTimeout = .seconds(600)
        return configuration
    }
}

import NIOCore
import NotifyCenter
import NotifyWire

extension NotificationClient.Message {
    /// Makes a message as if it had been received, for example in a test. Answers to it have no effect.
    ///
    /// - Parameters:
    ///   - sequence: The position in the daemon's order.
    ///   - name: The name under which the message was posted.
    ///   - payload: The content.
    ///   - object: The object; the empty string means none.
    ///   - headers: The headers.
    ///   - timeMicroseconds: The time at which the daemon accepted the message, in microseconds since
    ///     1970-01-01T00:00:00Z.
    ///   - uid: The uid of the poster.
    ///   - gid: The gid of the poster.
    ///   - pid: The pid of the poster.
    ///   - delivery: The number of the delivery by a durable subscription, from 1.
    ///   - isRedelivered: Whether the message may have been delivered before.
    /// - Throws: ``NotifyError`` with `invalidName`, `invalidObject` or `invalidHeaders`.
    public init(
        sequence: UInt64, name: String, payload: some Collection<UInt8> = [UInt8](), object: String? = nil,
        headers: NotificationClient.Headers = [:], timeMicroseconds: UInt64 = 0, uid: UInt32 = 0, gid: UInt32 = 0,
        pid: UInt32 = 0, delivery: Int = 1, isRedelivered: Bool = false
    ) throws(NotifyError) {
        let message = try NotificationClient.OutgoingMessage(
            name: name, payload: payload, object: object, headers: headers)
        let stamp = Stamp(sequence: sequence, timeMicroseconds: timeMicroseconds, uid: uid, gid: gid, pid: pid)
        var buffer = ByteBuffer()
        message.withParts { _ = Delivery.append(stamp, $0, to: &buffer) }
        self.init(buffer, isRedelivered: isRedelivered, delivery: UInt32(clamping: max(1, delivery)))
    }

    /// Makes a message without content.
    init(_ stamp: Stamp, name: String, object: String, headers: [UInt8]) {
        var buffer = ByteBuffer()
        let nothing = UnsafeRawBufferPointer(start: nil, count: 0)
        name.withUTF8Bytes { name in
            object.withUTF8Bytes { object in
                headers.withUnsafeBytes { headers in
                    let parts = MessageParts(
                        name: name, object: object, messageID: nothing, headers: headers, payload: nothing)
                    _ = Delivery.append(stamp, parts, to: &buffer)
                }
            }
        }
        self.init(buffer, isRedelivered: false, delivery: 1)
    }

    /// Makes a message from its deliver frame.
    private init(_ frame: ByteBuffer, isRedelivered: Bool, delivery: UInt32) {
        let length = frame.readableBytes - FrameHeader.size
        let entry = MessageBatch.Entry(
            offset: UInt32(FrameHeader.size), length: UInt32(length), isRedelivered: isRedelivered, delivery: delivery)
        let batch = MessageBatch(
            bytes: Array(frame.readableBytesView), entries: [entry], byteCount: frame.readableBytes)
        self.init(batch: batch, index: 0)
    }
}

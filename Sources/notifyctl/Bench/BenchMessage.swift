import NotifyClient

/// The messages of one run: a template, and a payload that begins with the run's tag and the time of posting, 8 bytes
/// each.
struct BenchMessage: Sendable {
    static let minimumBytes = 16

    private let template: NotificationClient.OutgoingMessage
    private let bytes: Int
    /// A random number. Receivers ignore messages without this tag: other programs have posted them.
    private let tag: UInt64

    init(_ template: NotificationClient.OutgoingMessage, bytes: Int, tag: UInt64) {
        self.template = template
        self.bytes = bytes
        self.tag = tag
    }

    /// Makes a message whose payload has `time` as the time of posting.
    func posted(at time: UInt64) -> NotificationClient.OutgoingMessage {
        template.with(
            payload: [UInt8](unsafeUninitializedCapacity: bytes) { buffer, count in
                let buffer = UnsafeMutableRawBufferPointer(buffer)
                buffer.storeBytes(of: tag, as: UInt64.self)
                buffer.storeBytes(of: time, toByteOffset: 8, as: UInt64.self)
                buffer[Self.minimumBytes...].initializeMemory(as: UInt8.self, repeating: UInt8(ascii: "x"))
                count = bytes
            })
    }

    /// The time at which a message was posted; `nil` for a message that is not part of this run.
    func time(of message: NotificationClient.Message) -> UInt64? {
        message.withPayload { payload in
            guard payload.count == bytes, payload.loadUnaligned(as: UInt64.self) == tag else { return nil }
            return payload.loadUnaligned(fromByteOffset: 8, as: UInt64.self)
        }
    }
}

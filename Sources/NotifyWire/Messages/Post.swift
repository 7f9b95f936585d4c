package import NIOCore

/// The durability that a poster asks for, and that a receipt reports.
package enum Durability: UInt8, CaseIterable, Sendable {
    /// `stored` if a durable subscription matches, otherwise `volatile`.
    case automatic = 0
    /// Never stored; durable subscriptions do not receive the message.
    case volatile = 1
    /// Committed to the log: survives a crash of the daemon.
    case stored = 2
    /// Flushed to disk: survives a loss of power.
    case synced = 3
}

/// A posted message, read in place.
///
/// Body: request u64, headers length u16, name length u8, object length u8, message id length u8, durability u8, two
/// reserved bytes; then name, object, message id, headers, payload. Flag bit 0 asks for a receipt.
package struct Post {
    package static let fixedSize = 16
    package static let receiptFlag: UInt8 = 1

    /// The request number. Higher than that of every earlier request on the connection; never 0.
    package var request: UInt64
    package var durability: Durability
    package var wantsReceipt: Bool
    package var parts: MessageParts

    package init(request: UInt64, durability: Durability, wantsReceipt: Bool, parts: MessageParts) {
        self.request = request
        self.durability = durability
        self.wantsReceipt = wantsReceipt
        self.parts = parts
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    @inlinable
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard frame.flags & ~Self.receiptFlag == 0 else { throw .unknownFlags }
        guard body.count >= Self.fixedSize else { throw .truncated }
        let parts = MessageParts(
            splitting: body.slice(from: Self.fixedSize),
            nameLength: body[10], objectLength: body[11], messageIDLength: body[12],
            headersLength: UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 8, as: UInt16.self)))
        guard let parts else { throw .truncated }
        guard let durability = Durability(rawValue: body[13]) else { throw .unknownDurability }
        self.parts = parts
        self.durability = durability
        request = UInt64(littleEndian: body.loadUnaligned(as: UInt64.self))
        wantsReceipt = frame.flags & Self.receiptFlag != 0
    }

    /// The request number of a post that is otherwise malformed; 0 if the body is too short to have one.
    package static func request(of frame: FrameDecoder.Frame) -> UInt64 {
        guard frame.body.count >= 8 else { return 0 }
        return UInt64(littleEndian: frame.body.loadUnaligned(as: UInt64.self))
    }

    /// Appends a whole post frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        buffer.writeFrame(.post, flags: wantsReceipt ? Self.receiptFlag : 0) { buffer in
            writeFixedFields(to: &buffer)
            writeParts(to: &buffer)
        }
    }

    func writeFixedFields(to buffer: inout ByteBuffer) {
        buffer.writeLE(request)
        buffer.writeLE(UInt16(parts.headers.count))
        buffer.writeInteger(UInt8(parts.name.count))
        buffer.writeInteger(UInt8(parts.object.count))
        buffer.writeInteger(UInt8(parts.messageID.count))
        buffer.writeInteger(durability.rawValue)
        buffer.writeInteger(UInt16(0))
    }

    func writeParts(to buffer: inout ByteBuffer) {
        buffer.writeBytes(parts.name)
        buffer.writeBytes(parts.object)
        buffer.writeBytes(parts.messageID)
        buffer.writeBytes(parts.headers)
        buffer.writeBytes(parts.payload)
    }
}

extension WireError {
    @usableFromInline
    static let unknownDurability = WireError(
        .invalidArgument,
        "unknown durability: expected 1 (volatile), 2 (stored), 3 (synced) or, in a post, 0 (automatic)")

    /// The error for unknown flags. They are refused rather than ignored, so that a client learns that the feature is
    /// not supported.
    @usableFromInline
    static let unknownFlags = WireError(.unsupported, "the frame sets a flag that this version does not support")
}

/// The answer to a post that asked for a receipt and was accepted.
package struct Receipt: ControlFrame {
    package static let kind = FrameKind.receipt

    package var request: UInt64
    package var sequence: UInt64
    /// The number of connections with matching volatile subscriptions; each gets the message once.
    package var subscribers: UInt32
    /// The number of durable subscriptions that the message was stored for.
    package var stored: UInt32
    /// The durability reached: never `automatic`.
    package var durability: Durability

    package init(request: UInt64, sequence: UInt64, subscribers: UInt32, stored: UInt32, durability: Durability) {
        self.request = request
        self.sequence = sequence
        self.subscribers = subscribers
        self.stored = stored
        self.durability = durability
    }

    package init(flags: UInt8, reading body: inout FieldReader) throws(WireError) {
        request = try body.integer()
        sequence = try body.integer()
        subscribers = try body.integer()
        stored = try body.integer()
        guard let durability = Durability(rawValue: try body.integer()), durability != .automatic else {
            throw .unknownDurability
        }
        self.durability = durability
        try body.skip(7)
    }

    package func writeBody(to buffer: inout ByteBuffer) {
        buffer.writeMultipleIntegers(
            request, sequence, subscribers, stored, UInt64(durability.rawValue), endianness: .little)
    }

    /// Appends the whole frame in one write. This is faster than `write(to:)`, which matters because receipts are as
    /// frequent as posts.
    package func append(to buffer: inout ByteBuffer) {
        let bodySize = 32
        let header = UInt64(bodySize) | UInt64(Self.kind.rawValue) << 32
        buffer.writeWithUnsafeMutableBytes(minimumWritableBytes: FrameHeader.size + bodySize) { target in
            target.storeBytes(of: header.littleEndian, as: UInt64.self)
            target.storeBytes(of: request.littleEndian, toByteOffset: 8, as: UInt64.self)
            target.storeBytes(of: sequence.littleEndian, toByteOffset: 16, as: UInt64.self)
            target.storeBytes(of: subscribers.littleEndian, toByteOffset: 24, as: UInt32.self)
            target.storeBytes(of: stored.littleEndian, toByteOffset: 28, as: UInt32.self)
            target.storeBytes(of: UInt64(durability.rawValue).littleEndian, toByteOffset: 32, as: UInt64.self)
            return FrameHeader.size + bodySize
        }
    }
}

package import NIOCore

/// A post that is also kept as the value of its name and object. Read in place.
///
/// Body: the fixed fields of a ``Post``, the expected sequence u64, then name, object, message id, headers, payload.
/// Flag bit 0 asks for a receipt; flag bit 1 makes the post depend on the expected sequence, which is 0 otherwise.
package struct SetValue {
    package static let fixedSize = Post.fixedSize + 8
    package static let conditionFlag: UInt8 = 2

    package var post: Post
    /// The sequence that the present value must have, 0 if there must be none; nil for any.
    package var ifSequence: UInt64?

    package init(_ post: Post, ifSequence: UInt64?) {
        self.post = post
        self.ifSequence = ifSequence
    }

    /// Reads the layout, without checking the content of the parts, which point into the frame.
    package init(_ frame: FrameDecoder.Frame) throws(WireError) {
        let body = frame.body
        guard frame.flags & ~(Post.receiptFlag | Self.conditionFlag) == 0 else { throw .unknownFlags }
        guard body.count >= Self.fixedSize else { throw .truncated }
        let parts = MessageParts(
            splitting: body.slice(from: Self.fixedSize),
            nameLength: body[10], objectLength: body[11], messageIDLength: body[12],
            headersLength: UInt16(littleEndian: body.loadUnaligned(fromByteOffset: 8, as: UInt16.self)))
        guard let parts else { throw .truncated }
        guard let durability = Durability(rawValue: body[13]) else { throw .unknownDurability }
        post = Post(
            request: UInt64(littleEndian: body.loadUnaligned(as: UInt64.self)), durability: durability,
            wantsReceipt: frame.flags & Post.receiptFlag != 0, parts: parts)
        if frame.flags & Self.conditionFlag != 0 {
            ifSequence = UInt64(littleEndian: body.loadUnaligned(fromByteOffset: Post.fixedSize, as: UInt64.self))
        }
    }

    /// Appends a whole frame. The parts must be within `Limits`.
    package func append(to buffer: inout ByteBuffer) {
        let flags = (post.wantsReceipt ? Post.receiptFlag : 0) | (ifSequence == nil ? 0 : Self.conditionFlag)
        buffer.writeFrame(.setValue, flags: flags) { buffer in
            post.writeFixedFields(to: &buffer)
            buffer.writeLE(ifSequence ?? 0)
            post.writeParts(to: &buffer)
        }
    }
}

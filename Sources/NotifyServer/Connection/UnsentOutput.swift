import Glibc
import NIOCore

/// The written bytes of a connection that are not flushed yet.
///
/// They are sent straight to the socket, which nearly always takes them at once. A channel would keep a record of each
/// buffer until the socket has taken its bytes, and these records take longer than a delivery.
struct UnsentOutput {
    private static let flags = CInt(MSG_DONTWAIT) | CInt(MSG_NOSIGNAL)
    /// The maximum number of buffers that one system call sends.
    private static let buffersPerCall = 64

    /// The first buffer. Most output is a single one, for which no array is allocated.
    private var first: ByteBuffer?
    private var others: [ByteBuffer] = []

    mutating func append(_ bytes: ByteBuffer) {
        if first == nil { first = bytes } else { others.append(bytes) }
    }

    mutating func removeAll() { self = UnsentOutput() }

    /// Takes the buffers.
    mutating func take() -> [ByteBuffer] {
        guard let first = first.take() else { return [] }
        defer { others = [] }
        return [first] + others
    }

    /// Takes the buffers, and sends as many of their bytes as the socket takes.
    ///
    /// An error is not reported: a channel that writes the rest meets the same error, and handles it.
    ///
    /// - Returns: The rest of the buffers.
    mutating func send(to socket: CInt) -> [ByteBuffer] {
        guard others.isEmpty else { return Self.send(take(), to: socket) }
        guard var buffer = first.take() else { return [] }
        let count = buffer.withUnsafeReadableBytes { Glibc.send(socket, $0.baseAddress, $0.count, Self.flags) }
        guard count < buffer.readableBytes else { return [] }
        buffer.moveReaderIndex(forwardBy: max(0, count))
        return [buffer]
    }

    private static func send(_ buffers: [ByteBuffer], to socket: CInt) -> [ByteBuffer] {
        var rest = buffers[...]
        while !rest.isEmpty {
            let part = rest.prefix(buffersPerCall)
            let bytes = part.reduce(0) { $0 + $1.readableBytes }
            let count = max(0, sendOnce(part, to: socket))
            guard count == bytes else { return dropFirst(count, of: rest) }
            rest.removeFirst(part.count)
        }
        return []
    }

    private static func sendOnce(_ buffers: ArraySlice<ByteBuffer>, to socket: CInt) -> Int {
        withUnsafeTemporaryAllocation(of: iovec.self, capacity: buffers.count) { vectors in
            for (index, buffer) in buffers.enumerated() {
                // The memory stays valid because `buffers` retains it.
                buffer.withUnsafeReadableBytesWithStorageManagement { bytes, _ in
                    vectors.initializeElement(
                        at: index,
                        to: iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
                }
            }
            var message = msghdr()
            message.msg_iov = vectors.baseAddress
            message.msg_iovlen = buffers.count
            return withExtendedLifetime(buffers) { sendmsg(socket, &message, flags) }
        }
    }

    private static func dropFirst(_ count: Int, of buffers: ArraySlice<ByteBuffer>) -> [ByteBuffer] {
        var (rest, count) = (buffers, count)
        while let buffer = rest.first, buffer.readableBytes <= count {
            count -= buffer.readableBytes
            rest.removeFirst()
        }
        if count > 0 { rest[rest.startIndex].moveReaderIndex(forwardBy: count) }
        return Array(rest)
    }
}

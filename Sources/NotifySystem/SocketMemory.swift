import Glibc

/// The kernel's memory for the bytes of a Unix socket.
package enum SocketMemory {
    /// The kernel's memory for sent bytes that the peer has not read, with the kernel's own records; 0 if it can't be
    /// determined. The kernel limits this memory by the size of the send buffer.
    package static func unreadBytes(of socket: CInt) -> Int {
        var bytes: CInt = 0
        return ioctl(socket, UInt(TIOCOUTQ), &bytes) == 0 ? Int(bytes) : 0
    }
}

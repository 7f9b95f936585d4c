import Glibc
package import SystemPackage

extension FileDescriptor {
    /// Writes all bytes, and blocks while there is no room for them, even if another process has made the descriptor
    /// non-blocking.
    package func writeWhole(_ bytes: UnsafeRawBufferPointer) throws(Errno) {
        var rest = bytes
        while !rest.isEmpty {
            do {
                let count = try Errno.typed { try write(rest) }
                rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
            } catch .resourceTemporarilyUnavailable {
                var output = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                poll(&output, 1, -1)
            }
        }
    }
}

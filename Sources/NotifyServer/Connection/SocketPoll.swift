import Glibc

/// Polls sockets without waiting.
enum SocketPoll {
    /// `POLLRDHUP`, which Swift's Glibc module lacks: the peer has shut down its direction.
    private static let halfClosed: CInt = 0x2000

    /// For each socket, whether bytes can be read from it and the peer may send more.
    static func areReadableAndOpen(_ descriptors: [CInt]) -> [Bool] {
        var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN | halfClosed), revents: 0) }
        guard poll(&entries, nfds_t(entries.count), 0) > 0 else { return descriptors.map { _ in false } }
        return entries.map { $0.revents == Int16(POLLIN) }
    }
}

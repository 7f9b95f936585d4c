import Glibc
import NotifySystem

/// The sockets of connections that the daemon has ended while their peers had unread bytes. The kernel keeps these
/// bytes until the peer reads them or closes its end, and reports no event when the peer closes its end. The daemon
/// therefore keeps a copy of the socket to examine it, and charges the peer's user for the bytes.
struct LeftSockets {
    struct Socket {
        let descriptor: CInt
        let uid: UInt32
        /// The charged bytes.
        let bytes: Int
    }

    /// Sockets with fewer unread bytes are not kept.
    static let minimumBytes = 4 << 10
    static let interval = Duration.seconds(1)
    /// The maximum number of sockets examined in one turn of the event loop. Examining them takes about a millisecond.
    static let socketsPerTurn = 1024

    private var sockets: [Socket] = []
    /// The number of sockets at the beginning of the array that are not examined yet in this round. A round goes from
    /// the end to the beginning.
    private var unexamined = 0
    /// The time at which sockets are examined next; nil without sockets.
    private(set) var deadline: Duration?

    /// Keeps a copy of a socket with unread bytes. The peer reads them, and then the end of the stream.
    ///
    /// - Returns: The kept socket with the bytes to charge; nil if the socket is not kept.
    mutating func keep(_ descriptor: CInt, of uid: UInt32, now: Duration) -> Socket? {
        let bytes = SocketMemory.unreadBytes(of: descriptor)
        guard bytes >= Self.minimumBytes, case let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 0), copy >= 0 else {
            return nil
        }
        shutdown(copy, CInt(SHUT_RDWR))
        let socket = Socket(descriptor: copy, uid: uid, bytes: bytes)
        sockets.append(socket)
        if deadline == nil { deadline = now + Self.interval }
        return socket
    }

    /// Closes the sockets whose peers have read nearly all bytes or have closed their ends, if the deadline has passed.
    ///
    /// - Returns: The closed sockets, whose charge ends.
    mutating func takeReleased(now: Duration) -> [Socket] {
        guard let time = deadline, time <= now else { return [] }
        if unexamined == 0 { unexamined = sockets.count }
        let end = unexamined
        let first = max(0, end - Self.socketsPerTurn)
        unexamined = first
        var released: [Socket] = []
        for index in (first..<end).reversed() {
            // A socket has no unread bytes once the peer has closed its end.
            guard SocketMemory.unreadBytes(of: sockets[index].descriptor) < Self.minimumBytes else { continue }
            close(sockets[index].descriptor)
            released.append(sockets[index])
            // The last socket was examined in this round, or was added after the round began.
            sockets.swapAt(index, sockets.count - 1)
            sockets.removeLast()
        }
        deadline = sockets.isEmpty ? nil : unexamined > 0 ? now : now + Self.interval
        return released
    }

    /// Closes all sockets.
    mutating func closeAll() {
        for socket in sockets { close(socket.descriptor) }
        self = LeftSockets()
    }
}

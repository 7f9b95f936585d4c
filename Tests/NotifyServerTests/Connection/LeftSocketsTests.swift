import Glibc
import NotifySystem
import Testing

@testable import NotifyServer

/// The sockets of ended connections whose peers have unread bytes.
@Suite struct LeftSocketsTests {
    /// A socket with unread bytes, and the socket of its peer. The caller closes the peer's socket.
    private func pair(_ bytes: Int) throws -> (own: CInt, peer: CInt) {
        var ends: [CInt] = [-1, -1]
        let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
        try #require(status == 0)
        let data = [UInt8](repeating: 7, count: bytes)
        #expect(send(ends[0], data, bytes, 0) == bytes)
        return (ends[0], ends[1])
    }

    private func read(_ descriptor: CInt) -> Int {
        var (buffer, count) = ([UInt8](repeating: 0, count: 1 << 18), 0)
        while case let part = recv(descriptor, &buffer, buffer.count, Int32(MSG_DONTWAIT)), part > 0 { count += part }
        return count
    }

    /// The inode of an open file; nil if the descriptor is closed. The inode identifies the file, because another test
    /// may have reused the number of a closed descriptor.
    private func inode(of descriptor: CInt) -> ino_t? {
        var status = stat()
        return fstat(descriptor, &status) == 0 ? status.st_ino : nil
    }

    @Test func `a socket is kept until its peer has read everything, and the peer then reads the end`() throws {
        var left = LeftSockets()
        let (own, peer) = try pair(20_000)
        let socket = left.keep(own, of: 7, now: .zero)
        let kept = try #require(socket)
        let keptInode = try #require(inode(of: kept.descriptor))
        #expect(close(own) == 0)
        #expect(kept.uid == 7 && kept.bytes >= 20_000)
        #expect(left.deadline == LeftSockets.interval)
        #expect(left.takeReleased(now: .milliseconds(999)).isEmpty)
        #expect(left.takeReleased(now: .seconds(1)).isEmpty)
        #expect(left.deadline == .seconds(2))
        #expect(read(peer) == 20_000)
        var byte: UInt8 = 0
        #expect(recv(peer, &byte, 1, Int32(MSG_DONTWAIT)) == 0, "the end of the stream")
        #expect(left.takeReleased(now: .seconds(2)).map(\.bytes) == [kept.bytes])
        #expect(left.deadline == nil)
        #expect(inode(of: kept.descriptor) != keptInode)
        close(peer)
    }

    @Test func `a socket is released when its peer closes its end`() throws {
        var left = LeftSockets()
        let (own, peer) = try pair(20_000)
        #expect(left.keep(own, of: 7, now: .zero) != nil)
        close(own)
        close(peer)
        #expect(left.takeReleased(now: .seconds(1)).count == 1)
    }

    @Test func `a socket with few unread bytes is not kept`() throws {
        var left = LeftSockets()
        let (own, peer) = try pair(100)
        #expect(left.keep(own, of: 7, now: .zero) == nil && left.deadline == nil)
        close(own)
        close(peer)
    }

    @Test func `many sockets are examined in several turns, each once`() throws {
        var left = LeftSockets()
        var peers: [CInt] = []
        for number in 0..<LeftSockets.socketsPerTurn + 10 {
            let (own, peer) = try pair(5_000)
            #expect(left.keep(own, of: UInt32(number), now: .zero) != nil)
            close(own)
            peers.append(peer)
        }
        // The peers with even numbers read their bytes.
        for peer in peers.enumerated() where peer.offset.isMultiple(of: 2) { #expect(read(peer.element) == 5_000) }
        let first = left.takeReleased(now: .seconds(1))
        #expect(left.deadline == .seconds(1), "the others follow in the next turn")
        let second = left.takeReleased(now: .seconds(1))
        #expect(left.deadline == .seconds(2))
        let expected = (0..<UInt32(peers.count)).filter { $0.isMultiple(of: 2) }
        #expect((first + second).map(\.uid).sorted() == expected)
        left.closeAll()
        for peer in peers {
            _ = read(peer)
            close(peer)
        }
    }
}

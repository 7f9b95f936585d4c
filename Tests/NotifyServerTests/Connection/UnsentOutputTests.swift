import Glibc
import NIOCore
import Testing

@testable import NotifyServer

/// The bytes of a connection on their way to its socket.
@Suite struct UnsentOutputTests {
    private final class Sockets {
        let own: CInt
        private(set) var peer: CInt

        init(sendBuffer: CInt? = nil) throws {
            var ends: [CInt] = [-1, -1]
            let status = socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends)
            try #require(status == 0)
            (own, peer) = (ends[0], ends[1])
            guard var sendBuffer else { return }
            setsockopt(own, SOL_SOCKET, SO_SNDBUF, &sendBuffer, socklen_t(MemoryLayout<CInt>.size))
        }

        deinit {
            close(own)
            if peer >= 0 { close(peer) }
        }

        func closePeer() {
            close(peer)
            peer = -1
        }

        func read() -> [UInt8] {
            var (buffer, all) = ([UInt8](repeating: 0, count: 1 << 16), [UInt8]())
            while case let count = recv(peer, &buffer, buffer.count, Int32(MSG_DONTWAIT)), count > 0 {
                all += buffer.prefix(count)
            }
            return all
        }
    }

    private func output(_ parts: [[UInt8]]) -> UnsentOutput {
        var output = UnsentOutput()
        for part in parts { output.append(ByteBuffer(bytes: part)) }
        return output
    }

    /// Parts that begin with their number.
    private func parts(_ count: Int, bytes: Int) -> [[UInt8]] {
        (0..<count).map { [UInt8(truncatingIfNeeded: $0)] + [UInt8](repeating: 7, count: bytes - 1) }
    }

    @Test(arguments: [0, 1, 2, 64, 65, 200])
    func `the socket gets all buffers in order`(count: Int) throws {
        let sockets = try Sockets()
        let parts = parts(count, bytes: 100)
        var output = output(parts)
        #expect(output.send(to: sockets.own) == [])
        #expect(sockets.read() == parts.flatMap(\.self))
        #expect(output.send(to: sockets.own) == [] && sockets.read() == [], "nothing is left")
    }

    @Test(arguments: [1, 2, 40, 200])
    func `what a full socket does not take is left`(count: Int) throws {
        let sockets = try Sockets(sendBuffer: 4608)
        let parts = parts(count, bytes: 400_000 / count)
        var output = output(parts)
        let rest = output.send(to: sockets.own)
        let sent = sockets.read()
        #expect(!sent.isEmpty && !rest.isEmpty)
        #expect(sent + rest.flatMap { Array($0.readableBytesView) } == parts.flatMap(\.self))
        #expect(output.take() == [], "the rest is taken")
    }

    @Test(arguments: [1, 2])
    func `after an error, all bytes are left for the channel`(count: Int) throws {
        let sockets = try Sockets()
        sockets.closePeer()
        let parts = parts(count, bytes: 10)
        var output = output(parts)
        // A write to a closed pipe does not end the process.
        #expect(output.send(to: sockets.own).map { Array($0.readableBytesView) } == parts)
    }

    @Test func `the buffers are taken in order`() {
        let parts = parts(3, bytes: 10)
        var output = output(parts)
        #expect(output.take().map { Array($0.readableBytesView) } == parts)
        #expect(output.take() == [])
    }
}

import Glibc
import Testing

@testable import NotifyServer

struct SocketPollTests {
    @Test func `a socket is read only if it has bytes and its peer may send more`() throws {
        let pairs = try (0..<4).map { _ in
            var pair: [CInt] = [-1, -1]
            try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
            return pair
        }
        for pair in pairs.dropFirst() { #expect(send(pair[1], "x", 1, 0) == 1) }
        shutdown(pairs[2][1], Int32(SHUT_WR))
        close(pairs[3][1])
        defer { for descriptor in pairs.joined().dropLast() { close(descriptor) } }
        let descriptors = pairs.map { $0[0] }
        #expect(SocketPoll.areReadableAndOpen(descriptors) == [false, true, false, false])
        #expect(SocketPoll.areReadableAndOpen([descriptors[0]]) == [false])
        #expect(SocketPoll.areReadableAndOpen([]).isEmpty)
    }
}

import WireTestSupport
import Foundation
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Bytes that are not frames, and malformed frames: the connection gets an error with a code and is closed, and
    /// other connections are not affected.
    @Suite struct BrokenFrameTests {
        struct Case: CustomTestStringConvertible {
            var testDescription: String
            var code: ErrorCode
            var isGreeted: Bool
            var bytes: [UInt8]

            init(_ description: String, _ code: ErrorCode, afterGreeting isGreeted: Bool = false, _ bytes: [UInt8]) {
                testDescription = description
                self.code = code
                self.isGreeted = isGreeted
                self.bytes = bytes
            }
        }

        private static func hello(_ change: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes = Hello(instance: .random()).encoded
            change(&bytes)
            return bytes
        }

        private static let post = postFrame(1, name: Array("a".utf8), payload: [1, 2, 3])

        private static let cases = [
            Case("HTTP", .frameTooLarge, Array("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8)),
            Case("text", .frameTooLarge, Array("hello there, is this the right socket?\n".utf8)),
            Case("ones", .frameTooLarge, [UInt8](repeating: 0xFF, count: 100_000)),
            Case("zeroes", .greetingExpected, [UInt8](repeating: 0, count: 100_000)),
            Case("4 GiB before the greeting", .frameTooLarge, rawFrame(1, length: .max)),
            Case("513 bytes before the greeting", .frameTooLarge, rawFrame(1, length: 513)),
            Case("a post before the greeting", .greetingExpected, post),
            Case("a hello without the magic", .greetingExpected, hello { $0[8] = 0 }),
            Case("a short hello", .malformedFrame, rawFrame(1, [0x4E, 0x54, 0x46, 0x59, 1])),
            Case(
                "a later version", .unsupportedVersion,
                hello {
                    $0[12] = 2; $0[14] = 9
                }),
            Case(
                "an older version", .unsupportedVersion,
                hello {
                    $0[12] = 0; $0[14] = 0
                }),
            Case(
                "a range of versions that ends before it begins", .unsupportedVersion,
                hello {
                    $0[12] = 5; $0[14] = 1
                }),
            Case("an unknown overflow policy", .invalidArgument, hello { $0[16] = 3 }),
            Case("4 GiB", .frameTooLarge, afterGreeting: true, rawFrame(2, length: .max)),
            Case(
                "one byte too many", .frameTooLarge, afterGreeting: true,
                rawFrame(2, length: (1 << 20) + (64 << 10) + 1)),
            Case("a second hello", .malformedFrame, afterGreeting: true, hello { _ in }),
            Case("an empty post", .malformedFrame, afterGreeting: true, rawFrame(2)),
            Case("a post whose name is cut", .malformedFrame, afterGreeting: true, rawFrame(2, post[8..<24] + [])),
            Case(
                "an overlong ping", .malformedFrame, afterGreeting: true, rawFrame(8, [1, 0, 0, 0, 0, 0, 0, 0, 0])),
            Case(
                "a subscribe that is cut", .malformedFrame, afterGreeting: true, rawFrame(3, [1, 0, 0, 0, 0, 0, 0, 0])),
            Case(
                "an acknowledgement that is cut", .malformedFrame, afterGreeting: true,
                rawFrame(6, [1, 0, 0, 0, 9, 0, 0, 0])),
        ]

        @Test(arguments: cases)
        func `a malformed frame is answered with an error code and closes the connection`(_ it: Case) async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let client = RawClient(try RawSocket(path: daemon.socket))
            if it.isGreeted { try client.greet() }
            // The daemon may close the connection before all bytes are sent, and does not answer the ping that follows.
            _ = try? client.send(it.bytes)
            _ = try? client.send(Ping(request: 99))
            let events = try client.waitForEnd()
            #expect(events.count == 1)
            guard case .error(let error) = events.first else {
                Issue.record("unexpected answer: \(events)")
                return
            }
            #expect(ErrorCode(rawValue: error.code) == it.code)
            #expect(error.isFatal)
            #expect(!error.message.isEmpty)
            try bystander.expectUndisturbed()
            try bystander.waitForOtherConnections(0)
        }

        @Test func `a connection closed within a frame leaves no state behind`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let payload = [UInt8](repeating: 7, count: 100_000)
            let post = postFrame(1, name: Array("never".utf8), payload: payload, .stored)
            try bystander.expectUndisturbed()
            let before = try bystander.statistics()
            let descriptors = try daemon.descriptorCount
            for cut in [1, 4, 7, 8, 9, 20, 24, 30, 1000, 65_536, post.count - 1] {
                let client = try RawClient(daemon)
                try client.send(Array(post[..<cut]))
            }
            try bystander.waitForOtherConnections(0)
            try bystander.expectUndisturbed()
            let after = try bystander.statistics()
            #expect(after["messages_in"] == before["messages_in", default: 0] + 1)
            #expect(try daemon.descriptorCount == descriptors)
        }

        @Test func `frames with a random kind and body do not stop the daemon`() async throws {
            let daemon = try await Daemon.start()
            let bystander = try Bystander(daemon)
            let seed = UInt64.random(in: .min ... .max)
            print("noise: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            for round in 0..<200 {
                let client = RawClient(try RawSocket(path: daemon.socket))
                if round % 2 == 0 { try client.greet() }
                var bytes: [UInt8] = []
                for _ in 0..<Int.random(in: 1...20, using: &random) {
                    // Frames with a valid length and a random kind and body are parsed further than random bytes.
                    let body = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                        UInt8.random(in: 0...255, using: &random) & (round % 3 == 0 ? 3 : 255)
                    }
                    bytes += rawFrame(UInt8.random(in: 0...12, using: &random), body)
                }
                _ = try? client.send(bytes)
            }
            try bystander.waitForOtherConnections(0)
            try bystander.expectUndisturbed()
        }

        @Test func `an unknown frame kind is answered and the connection stays open`() async throws {
            let daemon = try await Daemon.start()
            let client = try RawClient(daemon)
            for kind: UInt8 in [0, 0x2F, 0x3F, 0x41, 0x50, 0x62, 0xFF] {
                try client.send(rawFrame(kind, [1, 2, 3]))
                let error = try client.error()
                #expect(ErrorCode(rawValue: error.code) == .unknownFrame)
                #expect(error.detail == UInt64(kind))
                #expect(!error.isFatal)
            }
            try client.ping()
        }

        @Test func `frames may arrive byte by byte`() async throws {
            let daemon = try await Daemon.start()
            let client = RawClient(try RawSocket(path: daemon.socket))
            for byte in Self.hello({ _ in }) { try client.send([byte]) }
            _ = try client.wait("a welcome") { if case .welcome = $0 { true } else { nil } }
            for byte in Self.post { try client.send([byte]) }
            #expect(try client.receipt(of: 1).durability == .volatile)
        }
    }
}

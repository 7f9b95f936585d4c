import WireTestSupport
import Foundation
import NotifyWire
import Testing

extension IntegrationTests {
    /// A durable subscriber that is suspended while messages are posted. The daemon keeps only the subscriber's
    /// position in the log, and no messages in memory.
    @Suite struct StoppedSubscriberTests {
        private static let count = 1_000_000
        private static let limit = 64 << 20

        @Test func `a million messages for a stopped subscriber take little memory, and arrive later`() async throws {
            let daemon = try await Daemon.start()
            let script = Programs.repository + "/Tests/Integration/PythonClient/counting_subscriber.py"
            let warmUp = 1000
            let all = warmUp + Self.count
            let subscriber = try ChildProcess(
                "python3", [script, daemon.socket, "counter", "flood", "\(warmUp)", "\(all)", "\(all + 1)"],
                environment: ["PYTHONDONTWRITEBYTECODE": "1"])
            #expect(try await subscriber.waitForLines(1) == ["subscribed"])
            let poster = try RawClient(daemon)
            var flood = Flood(name: "flood", payloadSize: 128)
            try flood.post(warmUp, through: poster)
            #expect(try await subscriber.waitForLines(2).last == "received \(warmUp)")
            let before = try poster.statistics()
            let residentBefore = try daemon.residentBytes
            let proportionalBefore = try daemon.proportionalBytes

            subscriber.send(SIGSTOP)
            try subscriber.waitUntilStopped()
            var resident = 0
            var proportional = 0
            for _ in 0..<20 {
                try flood.post(Self.count / 20, through: poster)
                resident = max(resident, try daemon.residentBytes - residentBefore)
                proportional = max(proportional, try daemon.proportionalBytes - proportionalBefore)
            }
            let stopped = try poster.statistics()
            // Each of the 21 calls of `flood.post` posts one more message at its end.
            #expect(stopped["stored"] == UInt64(all + 21))
            #expect(!subscriber.hasExited)

            subscriber.send(SIGCONT)
            #expect(try await subscriber.waitForLines(3, within: .seconds(600)).last == "received \(all)")
            resident = max(resident, try daemon.residentBytes - residentBefore)
            proportional = max(proportional, try daemon.proportionalBytes - proportionalBefore)
            print("a stopped subscriber: resident \(resident >> 10) KiB more, proportional \(proportional >> 10) KiB")
            #expect(resident < Self.limit)
            #expect(proportional < Self.limit)

            // The daemon reads pages of the log until the subscriber has caught up, and reads none after that.
            let caughtUp = try poster.statistics()
            #expect(caughtUp["pages_read", default: 0] > before["pages_read", default: 0])
            try flood.post(1, through: poster)
            #expect(try await subscriber.waitForLines(4).last == "received \(all + 1)")
            #expect(try await subscriber.waitForExit() == .status(0))
            let end = try poster.statistics()
            #expect(end["pages_read"] == caughtUp["pages_read"])
            #expect(end["redelivered"] == 0)
            #expect(end["gaps"] == 0)
        }
    }
}

/// Posts numbered messages as fast as possible: the frames are encoded once, and only their numbers are replaced.
struct Flood {
    private var block: [UInt8] = []
    private let frameSize: Int
    private let nameSize: Int
    private static let framesPerBlock = 5000
    private(set) var number: UInt64 = 0

    init(name: String, payloadSize: Int) {
        let frame = postFrame(
            0, name: Array(name.utf8), payload: [UInt8](repeating: 7, count: payloadSize), receipt: false)
        frameSize = frame.count
        nameSize = name.utf8.count
        for _ in 0..<Self.framesPerBlock { block += frame }
    }

    /// Posts `count` messages without receipts, and returns when the daemon has stored them.
    mutating func post(_ count: Int, through client: RawClient) throws {
        var left = count
        while left > 0 {
            let frames = min(left, Self.framesPerBlock)
            let first = client.newRequests(frames)
            number(frames, from: first)
            try client.send(frames == Self.framesPerBlock ? block : Array(block[..<(frames * frameSize)]))
            left -= frames
        }
        // Commits are ordered, so this receipt covers all earlier messages.
        try client.post("flood.end", durability: .stored)
    }

    private mutating func number(_ frames: Int, from first: UInt64) {
        block.withUnsafeMutableBytes { bytes in
            for frame in 0..<frames {
                let start = frame * frameSize + FrameHeader.size
                bytes.storeBytes(of: (first + UInt64(frame)).littleEndian, toByteOffset: start, as: UInt64.self)
                bytes.storeBytes(
                    of: (number + UInt64(frame)).littleEndian, toByteOffset: start + Post.fixedSize + nameSize,
                    as: UInt64.self)
            }
        }
        number += UInt64(frames)
    }
}

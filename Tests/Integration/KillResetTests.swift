import Foundation
import NotifyWire
import SystemPackage
import TestSupport
import Testing
import WireTestSupport

extension IntegrationTests {
    /// The daemon is killed while it resets durable subscriptions.
    @Suite struct KillResetTests {
        private static let rounds = 12
        private static let readers = ["first", "second", "third"]

        @Test func `after a kill, a subscription continues at the position of its last reset`() async throws {
            let seed = UInt64.random(in: .min ... .max)
            print("kill rounds with resets: seed \(seed)")
            var random = SeededGenerator(seed: seed)
            let daemon = try await Daemon.start()
            try Self.createReaders(daemon)
            var stored: [UInt64] = []
            var positions: [String: UInt64] = [:]
            var answers = 0
            for _ in 0..<Self.rounds {
                let client = try RawClient(daemon)
                for _ in 0..<20 { stored.append(try client.post("load.a", durability: .stored).sequence) }
                let process = daemon.process
                let life = Int.random(in: 1...100, using: &random)
                DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(life)) { process.send(SIGKILL) }
                var pending: (reader: String, position: UInt64)?
                do {
                    while true {
                        let reader = Self.readers[Int.random(in: 0..<3, using: &random)]
                        let position = stored[Int.random(in: stored.indices, using: &random)]
                        pending = (reader, position)
                        try Self.reset(reader, to: position, client)
                        positions[reader] = position
                        pending = nil
                        answers += 1
                    }
                } catch  where error is ConnectionEnded || error is Errno {}
                #expect(try await process.waitForExit() == .signal(SIGKILL))
                try await daemon.start()
                for reader in Self.readers {
                    let received = try Self.read(reader, through: stored[stored.count - 1], daemon)
                    let start = positions[reader] ?? stored[0]
                    let other = pending?.reader == reader ? pending?.position ?? start : start
                    #expect([start, other].contains(received[0]), "\(reader)")
                    #expect(received == stored.filter { $0 >= received[0] }, "\(reader)")
                    positions[reader] = received[0]
                }
            }
            #expect(answers > 0)
            print("kill rounds with resets: \(answers) resets")
            #expect(try await daemon.stop() == .status(0))
        }

        private static func createReaders(_ daemon: Daemon) throws {
            let client = try RawClient(daemon)
            for reader in readers {
                try client.subscribe("load.>", durable: reader)
                try client.detach()
            }
        }

        /// Resets a subscription, and waits for the answer.
        private static func reset(_ reader: String, to position: UInt64, _ client: RawClient) throws {
            let request = client.newRequest()
            try client.send(Reset(request: request, durableName: reader, to: .sequence(position)))
            try client.wait("the answer to a reset") { event in
                switch event {
                case .durableDescription(let description) where description.request == request: ()
                case .error(let error): throw Refused(frame: error)
                default: nil
                }
            }
        }

        /// Reads the messages of a subscription up to the last one, and acknowledges none.
        private static func read(_ reader: String, through last: UInt64, _ daemon: Daemon) throws -> [UInt64] {
            let client = try RawClient(daemon)
            try client.subscribe("load.>", durable: reader, window: 1024)
            var received: [UInt64] = []
            while received.last != last { received.append(try client.message().sequence) }
            try client.detach()
            return received
        }
    }
}

import NotifyWire
import WireTestSupport

/// Connections that attach to durable subscriptions with long patterns and detach again in a loop, without waiting for
/// answers. The first attachment to a subscription creates it.
final class AttachingAttack: Attack {
    private static let batch = 8
    private static let namesPerConnection = 150
    private static let numberBytes = 8

    private let connections: [Connection]
    private var attach: [UInt8]
    private var number: UInt64 = 0

    init(_ target: Target) throws {
        let filler = String(repeating: "x", count: 200)
        attach =
            Subscribe(
                request: 1, subscription: 1,
                patterns: (0..<Limits.patternsPerSubscription).map { "attaching.*.\($0).\(filler)" },
                durableName: "attaching-" + String(repeating: "0", count: Self.numberBytes)
            ).encoded
        connections = try target.connections(target.size)
        Connection.serve(connections) {
            connections.count(.welcome) + connections.count(where: { !$0.isOpen }) == connections.count
        }
    }

    var admitted: Int { connections.count(.welcome) }

    func step() {
        for (index, connection) in connections.enumerated() where connection.isFlushed {
            for _ in 0..<Self.batch {
                number += 1
                let subscription = UInt32(truncatingIfNeeded: number)
                let name = index * Self.namesPerConnection + Int(number) % Self.namesPerConnection
                writeNumbers(request: connection.newRequest(), subscription: subscription, name: name)
                connection.write(attach)
                connection.write(Detach(request: connection.newRequest(), subscription: subscription))
            }
            connection.flush()
        }
        Connection.serve(connections)
    }

    /// Overwrites the numbers in the encoded frame: the request (u64) and the subscription (u32) at the start of the
    /// body, and the digits at the end of the durable name, which follows 24 bytes of fixed fields.
    private func writeNumbers(request: UInt64, subscription: UInt32, name: Int) {
        var rest = name
        attach.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: request.littleEndian, toByteOffset: FrameHeader.size, as: UInt64.self)
            bytes.storeBytes(of: subscription.littleEndian, toByteOffset: FrameHeader.size + 8, as: UInt32.self)
            let end = FrameHeader.size + 24 + "attaching-".utf8.count + Self.numberBytes
            for offset in 1...Self.numberBytes {
                bytes[end - offset] = UInt8(ascii: "0") + UInt8(rest % 10)
                rest /= 10
            }
        }
    }
}

import NIOCore
import NotifyWire

@testable import NotifyClient

extension FakeDaemon {
    struct Delivery: Sendable {
        var name: String
        var payload: String
        var headers: [(key: String, value: String)] = []
    }

    /// Runs a test with a client. The client's first subscription gets a gap of `gap` messages if `gap` is not 0, and
    /// then `deliveries`. The first delivery has the sequence `gap` + 1.
    ///
    /// - Returns: The acknowledged sequences.
    @discardableResult
    static func deliver(
        _ deliveries: [Delivery], gap: UInt64 = 0, isolation: isolated (any Actor)? = #isolation,
        to body: (NotificationClient) async throws -> Void
    ) async throws -> [UInt64] {
        try await run { daemon in
            let served = Task {
                let connection = try await daemon.accept()
                let subscribe = try await connection.acceptSubscription()
                let headers = try deliveries.map { try HeaderList.encode($0.headers) }
                let isDurable = !subscribe.durableName.isEmpty
                connection.send { buffer in
                    if gap > 0 {
                        let range = SequenceRange(first: 1, last: gap)
                        Gap(subscription: isDurable ? subscribe.subscription : 0, dropped: gap, range: range)
                            .write(to: &buffer)
                    }
                    if isDurable {
                        Run(subscription: subscribe.subscription, count: UInt32(deliveries.count), isRedelivery: false)
                            .write(to: &buffer)
                    }
                    for (index, delivery) in deliveries.enumerated() {
                        buffer.writeDelivery(
                            gap + UInt64(index + 1), delivery.name, headers: headers[index], payload: delivery.payload)
                    }
                }
                var acknowledged: [UInt64] = []
                while let frame = try await connection.next() {
                    guard frame.kind == .acknowledge else { continue }
                    for range in try frame.read(Acknowledge.self).ranges { acknowledged += range.first...range.last }
                }
                return acknowledged
            }
            try await withNotificationClient(configuration: .test(daemon.path)) { try await body($0) }
            return try await served.value
        }
    }
}

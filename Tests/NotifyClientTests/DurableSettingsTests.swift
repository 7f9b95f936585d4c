import NotifyWire
import Testing

@testable import NotifyClient

@Suite struct DurableSettingsTests {
    @Test func `omitted settings stay as they are`() throws {
        #expect(try NotificationClient.DurableSettings().changes().isEmpty)
        let all = NotificationClient.DurableSettings(
            deadline: .zero, retryDelays: [.zero, .milliseconds(1)], maximumDeliveries: 0, maximumInFlight: 9)
        #expect(
            try all.changes()
                == DurableSettingChanges(
                    deadlineMicroseconds: 0, retryDelays: [0, 1_000], maximumDeliveries: 0, maximumInFlight: 9))
    }

    @Test(
        arguments: [
            .init(deadline: .seconds(-1)), .init(deadline: .nanoseconds(1)), .init(deadline: .milliseconds(99)),
            .init(deadline: .seconds(30 * 86_400 + 1)), .init(deadline: .seconds(Int64.max)), .init(retryDelays: []),
            .init(retryDelays: [.seconds(-1)]), .init(retryDelays: Array(repeating: .zero, count: 17)),
            .init(maximumDeliveries: -1), .init(maximumDeliveries: 1 << 32), .init(maximumInFlight: 65_537),
            .init(maximumInFlight: -1),
        ] as [NotificationClient.DurableSettings])
    func `values out of range are refused`(_ settings: NotificationClient.DurableSettings) {
        let error = #expect(throws: NotifyError.self) { try settings.changes() }
        #expect(error?.code == .invalidArgument)
        #expect(throws: NotifyError.self) {
            try SubscriptionSpec(patterns: ["a"], object: nil, kind: .durable("d", settings: settings), limit: nil)
        }
    }

    @Test(arguments: [-1, 65_537, 1 << 32])
    func `the error for a wrong number of messages in flight names the limit`(_ count: Int) {
        let settings = NotificationClient.DurableSettings(maximumInFlight: count)
        let error = #expect(throws: NotifyError.self) { try settings.changes() }
        #expect(error?.message == "the number of messages in flight must be 0 to 65536, not \(count)")
    }

    @Test func `the limit of messages in flight is permitted`() throws {
        #expect(try NotificationClient.DurableSettings(maximumInFlight: 65_536).changes().maximumInFlight == 65_536)
    }
}

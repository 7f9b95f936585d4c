import Foundation
import NotifyWire
import Testing
import WireTestSupport

@testable import NotifyClient

/// The start of a new durable subscription.
@Suite struct StartTests {
    private func position(_ start: NotificationClient.Start) throws -> LogPosition {
        let kind = NotificationClient.SubscriptionKind.durable("d", from: start)
        let spec = try SubscriptionSpec(patterns: ["a"], object: nil, kind: kind, limit: nil)
        return spec.frame(request: 1, number: 1, credit: 1, maximumWindow: 9).start
    }

    @Test(
        arguments: [
            (.now, .now), (.oldest, .oldest), (.sequence(1), .sequence(1)),
            (.sequence(1 << 53 - 1), .sequence(1 << 53 - 1)),
            (.age(.zero), .age(microseconds: 0)), (.age(.seconds(7200)), .age(microseconds: 7_200_000_000)),
            (.age(.microseconds(1_500_001)), .age(microseconds: 1_500_001)),
            (.age(.nanoseconds(1_999)), .age(microseconds: 1)),
            (.age(.seconds(Int64.max)), .age(microseconds: LogPosition.maximumMicroseconds)),
            (.time(Date(timeIntervalSince1970: 0)), .time(microseconds: 0)),
            (.time(Date(timeIntervalSince1970: 1_795_348_800.25)), .time(microseconds: 1_795_348_800_250_000)),
            (.time(Date(timeIntervalSince1970: -1)), .time(microseconds: 0)),
            (.time(.distantPast), .time(microseconds: 0)),
        ] as [(NotificationClient.Start, LogPosition)])
    func `a start is sent as a position in the log`(start: NotificationClient.Start, expected: LogPosition) throws {
        #expect(try position(start) == expected)
        #expect(
            try Subscribe.decode(Subscribe(request: 1, subscription: 1, patterns: ["a"], start: expected).encoded)
                .start == expected)
    }

    /// The values are not arguments of the test, because `Date` traps when it describes such a value.
    @Test func `times out of the range of the protocol are limited, and NaN is refused`() throws {
        let last = LogPosition.time(microseconds: 1 << 63 - 1 << 10)
        for seconds in [9.3e12, 1e300, .infinity] {
            let position = try position(.time(Date(timeIntervalSince1970: seconds)))
            #expect(position == last)
        }
        let earliest = try position(.time(Date(timeIntervalSince1970: -.infinity)))
        #expect(earliest == .time(microseconds: 0))
        let error = #expect(throws: NotifyError.self) {
            _ = try position(.time(Date(timeIntervalSince1970: .nan)))
        }
        #expect(error?.code == .invalidArgument)
    }

    @Test func `a start at the date of a message begins with that message`() throws {
        for microseconds: UInt64 in stride(from: 1_795_348_800_000_000, to: 1_795_348_801_000_000, by: 997) {
            let date = Date(timeIntervalSince1970: Double(microseconds) / 1_000_000)
            #expect(try position(.time(date)) == .time(microseconds: microseconds))
        }
    }

    @Test(
        arguments: [
            .sequence(0), .sequence(1 << 53), .sequence(.max), .age(.microseconds(-1)),
        ] as [NotificationClient.Start])
    func `an invalid start is refused without the daemon`(_ start: NotificationClient.Start) {
        let error = #expect(throws: NotifyError.self) { try position(start) }
        #expect(error?.code == .invalidArgument)
    }
}

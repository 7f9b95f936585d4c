import Foundation
import Testing

@testable import notifyctl

@Suite struct TimestampTests {
    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000000Z"),
        (951_782_400_000_001, "2000-02-29T00:00:00.000001Z"),
        (951_868_799_999_999, "2000-02-29T23:59:59.999999Z"),
        (1_709_164_800_000_000, "2024-02-29T00:00:00.000000Z"),
        (4_107_542_400_000_000, "2100-03-01T00:00:00.000000Z"),
    ])
    func `times are written in UTC with microseconds`(microseconds: UInt64, text: String) {
        #expect(Timestamp.text(microseconds: microseconds) == text)
    }

    @Test func `every day agrees with Foundation's calendar`() {
        let formatter = ISO8601DateFormatter()
        for day in stride(from: 0, to: 100_000, by: 17) {
            let seconds = day * 86_400 + day % 86_400
            let expected = formatter.string(from: Date(timeIntervalSince1970: Double(seconds)))
            #expect(Timestamp.text(microseconds: UInt64(seconds) * 1_000_000) == expected.dropLast() + ".000000Z")
        }
    }
}

import Foundation
import Testing

@testable import notifyctl

@Suite struct BenchReportTests {
    @Test(
        arguments: [
            (0, "0.00 ns"), (7, "7.00 ns"), (999, "999 ns"), (1_000, "1.00 µs"), (12_340, "12.3 µs"),
            (99_960, "100.0 µs"),
            (123_456_789, "123 ms"), (1_500_000_000, "1.50 s"), (1_234_000_000_000, "1,234 s"),
        ] as [(UInt64, String)])
    func `times have at least three significant digits`(nanoseconds: UInt64, text: String) {
        #expect(BenchFormat.time(nanoseconds) == text)
    }

    @Test func `numbers have commas between groups of three digits`() {
        #expect([0, 999, 1_000, 1_234_567].map(BenchFormat.grouped) == ["0", "999", "1,000", "1,234,567"])
    }

    private func report(mayDrop: Bool) -> BenchReport {
        var measurement = BenchMeasurement()
        for latency in 1...1_000 as ClosedRange<UInt64> { measurement.latencies.record(latency * 100) }
        measurement.dropped = 5
        measurement.end = 3_000_000_000
        return BenchReport(
            benchmark: "subscribe", name: "a.b", messages: 1_005, bytes: 2_000, clients: [("clients", 2)],
            start: 1_000_000_000,
            parts: [.init(title: "received", latencyTitle: "delay", measurement: measurement, mayDrop: mayDrop)])
    }

    @Test func `the text has rates, percentiles and drops`() {
        #expect(
            report(mayDrop: true).text == """
                1,005 messages of 2000 B under a.b, clients 2
                received: 500 messages/s, 1.00 MB/s, in 2.00 s, 5 dropped
                  delay: p50 50.2 µs, p90 90.1 µs, p99 99.3 µs, p99.9 100 µs, max 100 µs

                """)
        #expect(!report(mayDrop: false).text.contains("dropped"))
    }

    @Test func `the JSON of a benchmark has the same figures as its text`() throws {
        let object = try JSONSerialization.jsonObject(with: Data(report(mayDrop: true).json)) as? [String: Any]
        let part = try #require(object?["received"] as? [String: Any])
        #expect(object?["messages"] as? Int == 1_005)
        #expect(object?["payload_bytes"] as? Int == 2_000)
        #expect(object?["clients"] as? Int == 2)
        #expect(part["messages"] as? Int == 1_000)
        #expect(part["dropped"] as? Int == 5)
        #expect(part["nanoseconds"] as? Int == 2_000_000_000)
        #expect(part["messages_per_second"] as? Int == 500)
        #expect(part["bytes_per_second"] as? Int == 1_000_000)
        let latencies = try #require(part["latency_nanoseconds"] as? [String: Int])
        #expect(latencies.keys.sorted() == ["max", "p50", "p90", "p99", "p999"])
        #expect(latencies["max"] == 100_000)
    }

    @Test func `the line of progress has the share and the rate`() {
        #expect(
            BenchProgress.line(posted: 1_200, of: 4_800, received: 1_100, after: .milliseconds(2_400))
                == "[#####...............]  25% posted 1,200 of 4,800 (500/s), received 1,100 in 2 s")
        #expect(
            BenchProgress.line(posted: 0, of: 10, received: 0, after: .zero)
                == "[....................]   0% posted 0 of 10 (0/s) in 0 s")
    }
}

import Metrics
import MetricsTestKit
import NotifyWire
import Testing

@testable import NotifyServer

@Suite struct DaemonMetricsTests {
    @Test func `totals become counters, and present values become meters`() throws {
        let backend = TestMetrics()
        var metrics = try #require(DaemonMetrics(backend))
        let names = Statistic.allCases.map { "notifyd_\($0.rawValue)" }
        #expect((backend.counters.map(\.label) + backend.meters.map(\.label)).sorted() == names.sorted())

        metrics.update([.init(name: "messages_in", value: 5), .init(name: "connections", value: 3)])
        metrics.update([.init(name: "messages_in", value: 12), .init(name: "connections", value: 1)])
        #expect(try backend.expectCounter("notifyd_messages_in").values == [5, 7])
        #expect(try backend.expectMeter("notifyd_connections").values == [3, 1])
    }

    @Test func `a total that has not changed is not reported again`() throws {
        let backend = TestMetrics()
        var metrics = try #require(DaemonMetrics(backend))
        for _ in 0..<3 { metrics.update([.init(name: "stored", value: 2)]) }
        #expect(try backend.expectCounter("notifyd_stored").values == [2])
    }

    @Test func `without a backend, there is nothing to update`() {
        #expect(DaemonMetrics(NOOPMetricsHandler.instance) == nil)
    }
}

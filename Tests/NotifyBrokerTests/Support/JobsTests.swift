import NotifyWire
import WireTestSupport

/// Suites with clients of the durable subscription "jobs".
protocol JobsTests {
    var host: TestHost { get }
}

extension JobsTests {
    func attach(_ settings: DurableSettingChanges = .init(), window: UInt32 = 0) -> Client {
        let client = host.connect()
        client.subscribe(1, ["jobs.>"], durable: "jobs", window: window, settings: settings)
        host.run()
        _ = client.take()
        return client
    }

    func post(_ texts: String...) {
        let poster = host.connect()
        for text in texts { poster.post("jobs.a", payload: Array(text.utf8)) }
        host.run()
    }

    func advance(_ time: Duration) {
        host.advance(time)
        host.run()
    }
}

import NotifyBroadcast
import TestSupport
import Testing

@Suite struct ArticleTests {
    /// The code is compiled with only the imports that the article shows.
    private let code = #filePath.replacing("ArticleTests.swift", with: "ArticleCode.swift")

    @Test func `the article shows the compiled code`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyBroadcast/NotifyBroadcast.docc/NotifyBroadcast.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled(in: code))
    }

    @Test func `the article's example behaves as described`() throws {
        final class Office: DeliveryEvents {
            let journal = Journal()
            func parcelSent(_ number: Int, to city: String) { journal.note("\(number) \(city)") }
            func parcelLost(_ number: Int) {}
        }
        let orders = DeliveryEventsBroadcaster()
        let office = Office()
        orders.register(office)
        try encodeAndDispatch(to: orders)
        #expect(follow(with: Feed()) == ["new"])
        #expect(office.journal.entries == ["42 Delft"])
    }
}

import Testing

@testable import notifyctl

@Suite struct TopLinesTests {
    @Test func `a report is a line of figures, titles, and a line for each row`() {
        var order = TopOrder(TopSamples.view)
        order.filter = "a"
        let lines = TopLines(view: TopSamples.view, order: order, interval: .seconds(1), count: nil)
        let rows = [TopSamples.row("a\n", size: 1, total: 5), TopSamples.row("b"), TopSamples.row("aa", size: 2)]
        let earlier = TopSamples.report([TopSamples.row("a\n", total: 1)])
        let text = lines.lines(of: TopSamples.report(rows, after: 2), since: earlier)
        #expect(text[0].hasPrefix("notifyd 1.2  up -  "))
        #expect(
            text.dropFirst().map(TopSamples.words) == [
                ["NAME", "ID", "SIZE", "RATE"], ["aa", "1", "2", "-"], ["a\u{FFFD}", "1", "1", "2"],
            ])
    }
}

import ArgumentParser
import Testing

@testable import notifyctl

@Suite struct SpanArgumentTests {
    @Test(
        arguments: [
            ("0", .zero, "0"), ("0s", .zero, "0"), ("1ms", .milliseconds(1), "1ms"),
            ("500ms", .milliseconds(500), "500ms"),
            ("1000ms", .seconds(1), "1s"), ("90s", .seconds(90), "90s"), ("60s", .seconds(60), "1m"),
            ("2h", .seconds(7_200), "2h"), ("24h", .seconds(86_400), "1d"), ("30d", .seconds(30 * 86_400), "30d"),
            ("1000d", .seconds(1000 * 86_400), "1000d"), ("5", .seconds(5), "5s"),
            ("1.5s", .milliseconds(1_500), "1500ms"),
            ("1w", .seconds(604_800), "7d"), ("1h30m", .seconds(5400), "90m"),
            ("86400000s", .seconds(1000 * 86_400), "1000d"),
        ] as [(String, Duration, String)])
    func `a span is read and written`(_ text: String, _ span: Duration, _ written: String) throws {
        #expect(try SpanArgument.span(text) == span)
        #expect(SpanArgument.text(span) == written)
    }

    @Test(arguments: ["", "s", "010", "-1s", "1 s", "1S", "1y", "30m1h", "1234567890s", "٣s", "1001d", "86400001s"])
    func `texts that are not spans of at most 1000 days are refused`(_ text: String) {
        #expect(throws: ValidationError.self) { try SpanArgument.span(text) }
        #expect(throws: ValidationError.self) { try SpanArgument.spans("1s,\(text)") }
    }

    @Test func `a span with a part of a millisecond is rounded up`() {
        #expect(SpanArgument.text(.microseconds(1)) == "1ms")
        #expect(SpanArgument.text(.microseconds(1_500)) == "2ms")
    }

    @Test func `a list of spans is separated by commas`() throws {
        #expect(try SpanArgument.spans("1s,10s,1m") == [.seconds(1), .seconds(10), .seconds(60)])
        #expect(SpanArgument.text([.seconds(1), .seconds(60)]) == "1s,1m")
    }
}

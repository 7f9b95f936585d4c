import NotifyWire
import Testing

@Suite struct LimitedTextTests {
    @Test(arguments: [("", 3), ("abc", 3), ("é", 3), ("😀", 4)])
    func `a text that fits stays as it is`(_ text: String, _ count: Int) {
        #expect(text.limited(toBytes: count) == text)
    }

    @Test(arguments: [
        ("abcd", 3, "…"), ("abcde", 4, "a…"), ("ééé", 5, "é…"), ("ééé", 4, "…"), ("a😀b", 5, "a…"),
        ("abe\u{301}d", 5, "ab…"),
    ])
    func `a text that is too long ends with an ellipsis`(_ text: String, _ count: Int, _ expected: String) {
        #expect(text.limited(toBytes: count) == expected)
    }
}

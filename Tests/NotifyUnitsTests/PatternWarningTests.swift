import NotifyUnits
import Testing

@Suite struct PatternWarningTests {
    @Test(arguments: [("web*", "web*"), ("a.#", "#"), ("**", "**"), ("a.b>.*", "b>"), ("a.*c.>", "*c"), ("#", "#")])
    func `a token that looks like a wildcard but is not one is reported`(pattern: String, token: String) {
        let texts = PatternWarning.texts(["plain", pattern])
        #expect(texts.count == 1)
        #expect(texts.first?.hasPrefix("'\(token)' in '\(pattern)' is no wildcard and matches only itself: ") == true)
    }

    @Test(arguments: ["a", "*", ">", "a.*", "a.*.>", "*.*", "a-b_c"])
    func `wildcards and plain tokens are not reported`(pattern: String) {
        #expect(PatternWarning.texts([pattern]).isEmpty)
    }
}

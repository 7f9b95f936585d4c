import TestSupport
import Testing

@Suite struct ArticleTests {
    /// The file with the article's code, compiled with only the imports that the article shows.
    private let code = #filePath.replacing("ArticleTests.swift", with: "ArticleCode.swift")

    @Test func `the article shows the compiled code`() throws {
        let article = "Sources/NotifyFoundation/NotifyFoundation.docc/NotifyFoundation.md"
        let shown = try ArticleCode.shown(in: article)
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled(in: code))
    }
}

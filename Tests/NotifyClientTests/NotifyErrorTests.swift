import Foundation
import Testing

@testable import NotifyClient

@Suite struct NotifyErrorTests {
    @Test func `the error for a missing connection names the time that the request waited`() {
        let error = NotifyError.notConnected(after: .seconds(1), lastFailure: nil)
        #expect(error.message == "timed out after 1 s without a connection to notifyd; nothing was sent")
    }

    @Test func `the article lists every code`() throws {
        let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")
        let article = try String(
            contentsOf: repository.appending(path: "Sources/NotifyClient/NotifyClient.docc/Errors.md"), encoding: .utf8)
        for code in NotifyError.Code.allCases { #expect(article.contains("`\(code.rawValue)`")) }
    }
}

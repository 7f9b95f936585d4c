import NotifyClient
import TestSupport
import Testing

/// The snippets of the article "When a message cannot be handled", compiled verbatim. A test compares them with the
/// article.
@Suite struct UnprocessableArticleTests {
    private struct Order: Decodable {}

    private func bill(_ order: Order) async throws {}

    private func snippets() async throws {
        try await withNotificationClient { client in
            // snippet
            try await client.withSubscription(to: "orders.*", as: .durable("billing")) { subscription in
                for try await order in subscription.messages(as: Order.self) {
                    switch order.result {
                    case .failure(let error):
                        order.deadLetter(reason: error.message)
                    case .success(let value):
                        do {
                            try await bill(value)
                            order.acknowledge()
                        } catch {
                            order.reject(reason: "\(error)")
                        }
                    }
                }
            }
            // end
            // snippet
            for try await letter in try await client.administration.deadLetters(of: "billing") {
                print(letter.sequence, letter.name, letter.originalDate, letter.deliveries, letter.reason ?? "")
            }
            // end
            // snippet
            let result = try await client.administration.retryDeadLetters(of: "billing")
            print("\(result.messages) delivered again, \(result.kept) kept")
            try await client.administration.purgeDeadLetters(of: "billing", sequences: [4711])
            // end
        }
    }

    @Test func `the article shows the compiled code`() throws {
        let shown = try ArticleCode.shown(in: "Sources/NotifyClient/NotifyClient.docc/UnprocessableMessages.md")
        #expect(shown.count > 0)
        #expect(try shown == ArticleCode.compiled())
    }
}

import NotifyStore
import TestSupport
import Testing

/// Compares retention with a list of all messages, during random posts, acknowledgements, subscriptions, rules, times
/// and restarts.
@Suite(.timeLimit(.minutes(25)))
struct RetentionModelTests {
    @Test func `no message is deleted early or without a recorded loss, or kept too long`() async throws {
        let seed = UInt64.random(in: 0 ... .max)
        print("seed \(seed)")
        var model = try RetentionModel(seed: seed)
        for _ in 0..<8_000 {
            switch Int.random(in: 0..<100, using: &model.generator) {
            case 0..<40: try await model.post()
            case 40..<65: try await model.acknowledge()
            case 65..<69: try await model.subscribe()
            case 69..<72: try await model.unsubscribe()
            case 72..<88: model.advance()
            case 88..<89: try await model.reset()
            case 89..<90: try await model.edit()
            case 90..<91: try await model.restart()
            case 91..<92: try await model.changeRules()
            default: try await model.maintain()
            }
        }
        try await model.maintain()
        #expect(model.deletedUnread > 50, "the hard limits had an effect")
        #expect(model.deletedRead > 500)
        #expect(model.released > 50, "the limit of backlogs had an effect")
        #expect(model.expired > 5)
        try model.store.close(nextSequence: model.next)
    }
}

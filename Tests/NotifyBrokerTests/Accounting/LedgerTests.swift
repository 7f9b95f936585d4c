import NotifyWire
import Testing

@testable import NotifyBroker

struct LedgerTests {
    private func ledger(_ limit: Int = 3) -> Ledger {
        var configuration = BrokerConfiguration()
        configuration.subscriptionsPerUser = limit
        configuration.receivedBytesPerUser = limit
        return Ledger(configuration)
    }

    @Test func `each user has its own limit, and the error names it`() throws {
        var ledger = ledger()
        for _ in 0..<3 { try ledger.take(.subscriptions, uid: 7) }
        let error = #expect(throws: WireError.self) { try ledger.take(.subscriptions, uid: 7) }
        #expect(error?.code == .limitReached)
        #expect(error?.message.contains("3 subscriptions") == true)
        #expect(ledger.amount(of: .subscriptions, uid: 7) == 3)
        try ledger.take(.subscriptions, uid: 8)
    }

    @Test func `released amounts can be taken again`() throws {
        var ledger = ledger(1)
        try ledger.take(.subscriptions, uid: 1)
        ledger.change(.subscriptions, by: -1, uid: 1)
        #expect(ledger.isEmpty(uid: 1))
        try ledger.take(.subscriptions, uid: 1)
        #expect(!ledger.isEmpty(uid: 1))
    }

    @Test(arguments: [2, 3, 4])
    func `a change of bytes is recorded even above the limit, and a check then fails`(_ bytes: Int) {
        var ledger = ledger()
        ledger.change(.receivedBytes, by: bytes, uid: 1)
        #expect(ledger.amount(of: .receivedBytes, uid: 1) == bytes)
        #expect((try? ledger.check(.receivedBytes, uid: 1)) == nil ? bytes > 3 : bytes <= 3)
    }

    @Test func `resources are counted separately`() {
        var ledger = ledger()
        for (index, resource) in Ledger.Resource.allCases.enumerated() {
            ledger.change(resource, by: index + 1, uid: 1)
        }
        for (index, resource) in Ledger.Resource.allCases.enumerated() {
            #expect(ledger.amount(of: resource, uid: 1) == index + 1)
            #expect(ledger.amount(of: resource, uid: 2) == 0)
        }
    }
}

import NotifyWire
import Testing

@testable import NotifyBroker

struct AccountsTests {
    @Test("Each user has a limit of his own, and the one too many is refused by name")
    func limits() throws {
        var accounts = Accounts()
        for _ in 0..<3 {
            try accounts.take(\.subscriptions, of: 7, limit: 3, named: "subscriptions")
        }
        let error = #expect(throws: WireError.self) {
            try accounts.take(\.subscriptions, of: 7, limit: 3, named: "subscriptions")
        }
        #expect(error?.code == .limitReached)
        #expect(error?.message.contains("3 subscriptions") == true)
        #expect(accounts[7].subscriptions == 3)
        try accounts.take(\.subscriptions, of: 8, limit: 3, named: "subscriptions")
    }

    @Test("What is given back can be taken again")
    func returns() throws {
        var accounts = Accounts()
        try accounts.take(\.durableSubscriptions, of: 1, limit: 1, named: "durable subscriptions")
        accounts[1].durableSubscriptions -= 1
        #expect(accounts[1].isEmpty)
        try accounts.take(\.durableSubscriptions, of: 1, limit: 1, named: "durable subscriptions")
    }
}

struct StoredNamesTests {
    @Test("Names count once for each user, and known ones pass at the limit")
    func limits() throws {
        var names = StoredNames()
        try note("a", &names)
        try note("b", &names)
        try note("a", &names)
        let error = #expect(throws: WireError.self) { try note("c", &names) }
        #expect(error?.code == .limitReached)
        try note("b", &names)
        try note("c", by: 2, &names)
    }

    private func note(_ name: String, by uid: UInt32 = 1, _ names: inout StoredNames) throws {
        var name = name
        try name.withUTF8 { try names.note(UnsafeRawBufferPointer($0), by: uid, limit: 2) }
    }
}

import NotifyCenter
import NotifyLog
import Testing

@Suite struct RetentionPolicyTests {
    /// A policy with a rule for each list of patterns.
    private func policy(_ patterns: [String]...) throws -> RetentionPolicy {
        RetentionPolicy(
            rules: try patterns.map { RetentionRule(patterns: try $0.map { try NamePattern($0) }) })
    }

    private func rule(_ policy: RetentionPolicy, _ name: String) -> Int {
        Array(name.utf8).withUnsafeBytes { policy.rule(for: $0) }
    }

    @Test func `the built-in rule keeps a day and a gibibyte of history, and all unread messages`() {
        let builtIn = RetentionPolicy().rules
        #expect(builtIn == [.builtIn, .deadLetters])
        #expect(builtIn[0].historyAge == .seconds(24 * 3600) && builtIn[0].historyBytes == 1 << 30)
        #expect(builtIn[0].maximumAge == nil && builtIn[0].maximumBytes == nil && builtIn[0].maximumMessages == nil)
    }

    @Test func `dead letters are kept for 30 days and up to a gibibyte by default`() throws {
        let deadLetters = RetentionPolicy().rules[rule(RetentionPolicy(), "notifyd.dead.1000")]
        #expect(deadLetters.maximumAge == .seconds(30 * 86_400) && deadLetters.historyAge == deadLetters.maximumAge)
        #expect(deadLetters.maximumBytes == 1 << 30 && deadLetters.maximumMessages == nil && deadLetters.isPerName)
        #expect(rule(try policy(["notifyd.dead.1000"]), "notifyd.dead.1000") == 2)
        #expect(rule(try policy([">"]), "notifyd.dead.1000") == 1)
    }

    @Test(arguments: [
        ("orders.created", 0), ("metrics.cpu", 2), ("metrics", 0), ("metrics.disk.sda", 4), ("logs.web", 3),
        ("logs.web.error", 0), ("metrics.disk", 2),
    ])
    func `the last rule that matches a name decides`(_ name: String, _ expected: Int) throws {
        let policy = try policy(["metrics.>"], ["logs.*"], ["audit", "metrics.disk.>"])
        #expect(rule(policy, name) == expected)
    }

    @Test func `a later rule overrides a more specific earlier one`() throws {
        #expect(rule(try policy(["a.b"], ["a.>"]), "a.b") == 3)
        #expect(rule(try policy(["a.b"], [">"]), "a.b") == 3)
    }

    @Test(arguments: [
        ([">"], 0), (["*.storage"], 0), (["notifyd.>"], 2), (["notifyd.storage"], 2), ([">", "notifyd.*"], 2),
    ])
    func `a leading wildcard of a configured rule does not match reserved names`(
        _ patterns: [String], _ expected: Int
    ) throws {
        #expect(rule(try policy(patterns), "notifyd.storage") == expected)
    }

    @Test func `a policy without configured rules matches every name with the built-in rule`() {
        for name in ["a", "notifyd.storage.disk", "user.7.a"] { #expect(rule(RetentionPolicy(), name) == 0) }
    }

    @Test func `configured rules follow the built-in ones`() throws {
        var changed = RetentionPolicy()
        changed.configuredRules = try policy(["a"], ["b"]).configuredRules
        #expect(changed == (try policy(["a"], ["b"])))
        #expect(changed.rules.count == 4 && changed.rules[0] == .builtIn)
        changed.configuredRules = []
        #expect(changed == RetentionPolicy())
    }

    @Test(
        arguments: [
            (.half, 1001, 500), (.quarter, 1001, 250), (.half, nil, nil), (.quarter, nil, nil), (.bytes(7), 1001, 7),
            (.bytes(7), nil, 7), (.unlimited, 1001, nil),
        ] as [(BacklogLimit, UInt64?, UInt64?)])
    func `the limit of backlogs is a share of the log's limit, a size or none`(
        _ limit: BacklogLimit, _ maximum: UInt64?, _ expected: UInt64?
    ) {
        var policy = RetentionPolicy()
        #expect(policy.backlogBytes == 5 << 30)
        policy.maximumBacklog = limit
        policy.maximumBytes = maximum
        #expect(policy.backlogBytes == expected)
    }
}

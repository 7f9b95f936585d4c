import Testing

@testable import NotifyCenter

@Suite struct ObservationSummaryTests {
    private let center = LocalCenter()
    private let name = NotificationName(literal: "orders.paid")

    private var lines: [String] {
        center.observations.map { "\($0)".part(before: " at ") }
    }

    @Test func `observations are listed in order of registration, not of priority`() throws {
        let tokens = [
            center.observe(name) { _ in },
            try center.observe("orders.*", options: .priority(5)) { _ in },
            center.observe([NamePattern("a.*"), NamePattern("b")], options: .key("k")) { _ in },
            center.observe(.every) { _ in },
        ]
        #expect(lines == ["orders.paid", "orders.*, priority 5", "a.* b, key k", ">"])
        tokens[1].cancel()
        #expect(lines == ["orders.paid", "a.* b, key k", ">"])
        let last = center.observe(name) { _ in }
        #expect(lines == ["orders.paid", "a.* b, key k", ">", "orders.paid"])
        withExtendedLifetime((tokens, last)) {}
    }

    @Test func `the object, the owner and the pause are listed`() {
        let owner = Thing()
        let instance = Thing()
        let observation = center.observe(name, object: "17", owner: owner, options: [.key("k"), .priority(-1)]) {
            _, _ in
        }
        let tokens = [
            center.observe(name, object: NotificationObject(value: 17)) { _ in },
            center.observe(name, object: NotificationObject(instance: instance)) { _ in },
        ]
        observation.pause()
        #expect(
            lines == [
                "orders.paid, object 17, owner Thing, priority -1, key k, paused", "orders.paid, object 17",
                "orders.paid, object Thing",
            ])
        observation.resume()
        #expect(center.observations.first?.isPaused == false)
        withExtendedLifetime((owner, instance, tokens)) {}
    }

    @Test func `the fields of a summary describe the observation`() throws {
        let owner = Thing()
        let line = UInt(#line + 1)
        center.observe(name, object: "17", owner: owner, options: [.key("k"), .priority(3)]) { _, _ in }
        let summary = try #require(center.observations.first)
        #expect(summary.names == "orders.paid")
        #expect(summary.object == "17")
        #expect(summary.ownerType == "Thing")
        #expect(summary.priority == 3)
        #expect(summary.key == "k")
        #expect(summary.droppedCount == 0)
        #expect(summary.place.line == line)
        #expect("\(summary)".hasSuffix(" at NotifyCenterTests/ObservationSummaryTests.swift:\(line)"))
    }

    @Test func `the dropped count is listed unless zero`() {
        let sequence = center.notifications(for: name, buffering: .dropNewest(limit: 1))
        center.post(name)
        #expect(lines == ["orders.paid"])
        for lost in 1...2 {
            center.post(name)
            #expect(center.observations.first?.droppedCount == lost)
            #expect(lines == ["orders.paid, dropped \(lost)"])
        }
        withExtendedLifetime(sequence) {}
    }

    @Test func `released, replaced and ended observations are not listed`() {
        var owner: Thing? = Thing()
        if let owner { center.observe(name, owner: owner) { _, _ in } }
        var instance: Thing? = Thing()
        let ofInstance = instance.map { center.observe(name, object: NotificationObject(instance: $0)) { _ in } }
        let replaced = center.observe(name, options: .key("k")) { _ in }
        let replacing = center.observe(name, options: [.key("k"), .priority(1)]) { _ in }
        let once = center.observe(name, options: .once) { _ in }
        #expect(center.observations.count == 4)
        owner = nil
        instance = nil
        center.post(name)
        #expect(lines == ["orders.paid, priority 1, key k"])
        withExtendedLifetime((ofInstance, replaced, replacing, once)) {}
    }

    @Test func `the list holds no objects strongly`() {
        var owner: Thing? = Thing()
        let gone = Weak(owner)
        if let owner { center.observe(name, object: NotificationObject(instance: owner), owner: owner) { _, _ in } }
        let list = center.observations
        owner = nil
        #expect(gone.isGone)
        #expect(list.map(\.ownerType) == ["Thing"])
    }
}

extension String {
    /// The part of the text before the last occurrence of `end`, or the whole text if `end` does not occur.
    fileprivate func part(before end: String) -> String {
        guard let range = ranges(of: end).last else { return self }
        return String(self[..<range.lowerBound])
    }
}

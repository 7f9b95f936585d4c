import TestSupport
import Testing

@testable import NotifyCenter

/// Pausing, resuming and ending. `LocalCenterTests` covers observations that end with their token or owner.
@Suite struct ObservationHandleTests {
    private let center = LocalCenter()
    private let journal = Journal()
    private let name = NotificationName(literal: "orders.paid")

    private func observe(_ label: String) -> ObservationToken {
        center.observe(name) { [journal] in journal.note("\(label) \($0.payload as? Int ?? 0)") }
    }

    @Test func `messages posted during a pause are not delivered later`() {
        let (paused, other) = (observe("paused"), observe("other"))
        paused.pause()
        center.post(name, payload: 1)
        #expect(journal.take() == ["other 1"])
        paused.resume()
        #expect(journal.take() == [])
        center.post(name, payload: 2)
        #expect(journal.take() == ["paused 2", "other 2"])
        withExtendedLifetime((paused, other)) {}
    }

    @Test func `pausing and resuming do not nest`() {
        let token = observe("observer")
        token.resume()
        token.pause()
        token.pause()
        center.post(name, payload: 1)
        token.resume()
        center.post(name, payload: 2)
        #expect(journal.take() == ["observer 2"])
        token.cancel()
    }

    @Test func `a paused observation stays active and keeps its position`() {
        let (first, second) = (observe("first"), observe("second"))
        first.pause()
        #expect(first.observation.isActive)
        #expect(center.observationCount == 2)
        first.resume()
        center.post(name)
        #expect(journal.take() == ["first 0", "second 0"])
        withExtendedLifetime((first, second)) {}
    }

    @Test func `an observation paused before its call in a post is not called`() {
        let victim = LateValue<ObservationToken>()
        let first = center.observe(name) { _ in victim.value?.pause() }
        victim.value = observe("victim")
        center.post(name)
        #expect(journal.take() == [])
        withExtendedLifetime(first) {}
        victim.value = nil
    }

    @Test func `observations of owners and types can be paused`() {
        let owner = Thing()
        let observations = [
            center.observe(name, owner: owner) { [journal] _, _ in journal.note("name") },
            center.observe(OrderPaid.self, owner: owner) { [journal] _, _ in journal.note("type") },
        ]
        for observation in observations { observation.pause() }
        center.post(OrderPaid(amount: 1))
        #expect(journal.take() == [])
        for observation in observations { observation.resume() }
        center.post(OrderPaid(amount: 1))
        #expect(journal.take() == ["name", "type"])
        withExtendedLifetime(owner) {}
    }

    @Test func `an owner's observation ends when its handle is cancelled, not when the handle is released`() {
        let owner = Thing()
        var observation: ObservationHandle? = center.observe(name, owner: owner) { [journal] _, _ in
            journal.note("owner")
        }
        let copy = observation
        observation = nil
        center.post(name)
        #expect(journal.take() == ["owner"])
        copy?.cancel()
        #expect(copy?.isActive == false)
        center.post(name)
        #expect(journal.take() == [])
        withExtendedLifetime(owner) {}
    }

    @Test func `an ended observation can't be changed and does not affect its successor`() {
        let ended = observe("ended")
        ended.cancel()
        let next = observe("next")
        ended.pause()
        ended.cancel()
        center.post(name)
        #expect(journal.take() == ["next 0"])
        next.pause()
        ended.resume()
        center.post(name)
        #expect(journal.take() == [])
        #expect(!ended.observation.isActive && next.observation.isActive)
        #expect(ended.observation.droppedCount == 0)
    }
}

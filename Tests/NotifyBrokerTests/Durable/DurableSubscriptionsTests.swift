import NotifyLog
import NotifyWire
import Testing

@testable import NotifyBroker

struct DurableSubscriptionsTests {
    private func record(_ id: UInt32, _ name: String, uid: UInt32 = 1000) -> DurableRecord {
        DurableRecord(
            id: DurableID(id), owner: Identity(uid: uid, gid: uid), name: name, filter: .everything,
            startedAfter: 0, progress: DurableProgress(cursor: 0, seenThrough: 0))
    }

    private func add(_ record: DurableRecord, _ durables: inout DurableSubscriptions) -> DurableSlot {
        let slot = durables.add(record, identities: [.test])
        durables[slot].registration = UInt64(slot.index) + 100
        return slot
    }

    @Test func `a subscription is found by name and by id until it is removed`() {
        var durables = DurableSubscriptions(nextID: DurableID(1))
        let slots = [add(record(1, "a"), &durables), add(record(2, "a", uid: 7), &durables)]
        #expect(durables.slot(of: DurableKey(uid: 1000, name: "a")) == slots[0])
        #expect(durables.slot(of: DurableKey(uid: 7, name: "a")) == slots[1])
        #expect(durables.slot(of: DurableID(2)) == slots[1])
        #expect(durables.isCurrent(100, at: slots[0]) && !durables.isCurrent(101, at: slots[0]))
        let removed = durables.remove(slots[0])
        #expect(removed.id == DurableID(1))
        #expect(durables.slot(of: DurableKey(uid: 1000, name: "a")) == nil)
        #expect(durables.slot(of: DurableID(1)) == nil)
        #expect(!durables.isCurrent(100, at: slots[0]))
        #expect(durables.slots == [slots[1]])
    }

    @Test func `ids are not reused, and no id is assigned after the last one`() throws {
        var durables = DurableSubscriptions(nextID: DurableID(.max - 2))
        let ids = [try durables.takeID(), try durables.takeID()]
        #expect(ids == [DurableID(.max - 2), DurableID(.max - 1)])
        for _ in 0..<2 {
            let error = #expect(throws: WireError.self) { try durables.takeID() }
            #expect(error?.code == .limitReached)
        }
    }

    @Test func `progress is taken once, and again after a failed commit`() {
        var durables = DurableSubscriptions(nextID: DurableID(9))
        let slots = [add(record(1, "a"), &durables), add(record(2, "b"), &durables)]
        for slot in slots.reversed() { durables.noteProgress(slot) }
        let taken = durables.takeProgress(now: .zero)
        let updated = taken.changes.map { change -> DurableID? in
            if case .update(let id, _) = change { id } else { nil }
        }
        #expect(updated == [DurableID(1), DurableID(2)])
        #expect(!durables.hasUnsavedProgress)
        _ = durables.remove(slots[0])
        durables.progressFailed(taken.slots)
        #expect(durables.takeProgress(now: .zero).slots == [slots[1]], "a removed subscription has nothing to persist")
    }

    @Test func `attached subscriptions are counted`() {
        var durables = DurableSubscriptions(nextID: DurableID(9))
        let slot = add(record(1, "a"), &durables)
        _ = durables.attach(slot, .test(), credit: 1)
        #expect(durables.attachedCount == 1)
        durables.detach(slot, [0], .detached, now: .test())
        durables.detach(slot, [0], .detached, now: .test())
        #expect(durables.attachedCount == 0)
    }
}

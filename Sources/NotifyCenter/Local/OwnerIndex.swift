/// Which observations an owner has: a list through the slots of the observers, so that a million of them cost nothing more.
struct OwnerIndex {
    private struct Record {
        var first: Int32
        var count = 0
        /// At how many it is time to look for repetitions.
        var nextLook = OwnerIndex.repetitions
        var told: Set<RepeatedObservation.Place> = []
    }

    private struct Link {
        var owner: ObjectIdentifier
        var previous: Int32
        var next: Int32
    }

    /// From how many on the same observation is a repetition.
    static let repetitions = 8

    private var records: [ObjectIdentifier: Record] = [:]
    private var links: ContiguousArray<Link?> = []

    func first(of owner: ObjectIdentifier) -> Int32? {
        records[owner]?.first
    }

    /// The slots, the last added first.
    func all(of owner: ObjectIdentifier) -> [Int32] {
        var slots: [Int32] = []
        var slot = records[owner]?.first ?? -1
        while slot >= 0 {
            slots.append(slot)
            slot = links[Int(slot)]?.next ?? -1
        }
        return slots
    }

    /// Adds a slot. Answers whether it is time to look for repetitions: whenever there are twice as many as the last time.
    mutating func add(_ slot: Int32, to owner: ObjectIdentifier) -> Bool {
        while links.count <= Int(slot) { links.append(nil) }
        var record = records[owner] ?? Record(first: -1)
        if record.first >= 0 { links[Int(record.first)]?.previous = slot }
        links[Int(slot)] = Link(owner: owner, previous: -1, next: record.first)
        record.first = slot
        record.count += 1
        // Twice as many as ever before, so that who comes and goes at that number does not pay for a look each time.
        let isTime = record.count >= record.nextLook
        if isTime { record.nextLook *= 2 }
        records[owner] = record
        return isTime
    }

    mutating func remove(_ slot: Int32) {
        guard links.indices.contains(Int(slot)), let link = links[Int(slot)].take() else { return }
        if link.next >= 0 { links[Int(link.next)]?.previous = link.previous }
        if link.previous >= 0 { links[Int(link.previous)]?.next = link.next }
        records[link.owner]?.count -= 1
        if link.previous < 0 { records[link.owner]?.first = link.next }
        if records[link.owner]?.count == 0 { records[link.owner] = nil }
        if records.isEmpty { links = [] }
    }

    mutating func removeAll(of owner: ObjectIdentifier) {
        for slot in all(of: owner) { remove(slot) }
    }

    /// Notes that a repetition is told of. Answers whether it is for the first time.
    mutating func tell(_ repetition: Observer) -> Bool {
        guard let owner = repetition.ownerIdentifier else { return false }
        return records[owner]?.told.insert(RepeatedObservation.Place(repetition)).inserted == true
    }
}

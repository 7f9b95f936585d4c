/// The observations of each owner, as linked lists over the observers' slots, so that adding and removing take constant
/// time.
struct OwnerIndex {
    private struct Record {
        var first: Int32
        var count = 0
        /// The number of observations at which to check for repetitions next.
        var nextCheck = OwnerIndex.repetitionThreshold
        var reported: Set<RepeatedObservation.Place> = []
    }

    private struct Link {
        var owner: ObjectIdentifier
        var previous: Int32
        var next: Int32
    }

    /// The number of equal observations that counts as a repetition.
    static let repetitionThreshold = 8

    private var records: [ObjectIdentifier: Record] = [:]
    private var links: ContiguousArray<Link?> = []

    func first(of owner: ObjectIdentifier) -> Int32? {
        records[owner]?.first
    }

    /// The slots of an owner's observers, the last added first.
    func all(of owner: ObjectIdentifier) -> [Int32] {
        var slots: [Int32] = []
        var slot = records[owner]?.first ?? -1
        while slot >= 0 {
            slots.append(slot)
            slot = links[Int(slot)]?.next ?? -1
        }
        return slots
    }

    /// Adds a slot.
    ///
    /// - Returns: Whether a check for repetitions is due: the owner has `repetitionThreshold` observations, or twice as
    ///   many as at the last check.
    mutating func add(_ slot: Int32, to owner: ObjectIdentifier) -> Bool {
        while links.count <= Int(slot) { links.append(nil) }
        var record = records[owner] ?? Record(first: -1)
        if record.first >= 0 { links[Int(record.first)]?.previous = slot }
        links[Int(slot)] = Link(owner: owner, previous: -1, next: record.first)
        record.first = slot
        record.count += 1
        // Never lowered, so that adding and removing observations around this number does not check each time.
        let isCheckDue = record.count >= record.nextCheck
        if isCheckDue { record.nextCheck *= 2 }
        records[owner] = record
        return isCheckDue
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

    /// Marks a repetition as reported.
    ///
    /// - Returns: False if the repetition was already reported.
    mutating func markReported(_ repetition: Observer) -> Bool {
        guard let owner = repetition.ownerIdentifier else { return false }
        return records[owner]?.reported.insert(RepeatedObservation.Place(repetition)).inserted == true
    }
}

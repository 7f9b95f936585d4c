/// The observations of each owner, as linked lists over the observers' slots, so that adding and removing take constant
/// time.
struct OwnerIndex {
    fileprivate struct Record {
        var first: Int32
        var count = 0
        /// The slot of the last added observation of each ``RepeatedObservation/Place``, by the hash value of the
        /// place. Empty until the owner has a second observation.
        var latest: [Int: Int32] = [:]
        var reportedPlaces: Set<Int> = []
    }

    private struct Link {
        var owner: ObjectIdentifier
        var previous: Int32
        var next: Int32
        /// The hash value of the observation's names, object and source location; nil for one with a key, which may be
        /// registered again.
        var place: Int?
    }

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
    /// - Parameter place: The hash value of the observation's ``RepeatedObservation/Place``: its names, object and
    ///   source location. Nil for an observation with a key, which may be registered again.
    /// - Returns: The slot of the last added observation with this place. Nil if there is none, if it was removed, or
    ///   if a repetition was already reported.
    mutating func add(_ slot: Int32, to owner: ObjectIdentifier, place: Int? = nil) -> Int32? {
        while links.count <= Int(slot) { links.append(nil) }
        let next = records[owner]?.first ?? -1
        if next >= 0 { links[Int(next)]?.previous = slot }
        let link = Link(owner: owner, previous: -1, next: next, place: place)
        links[Int(slot)] = link
        let nextPlace = next < 0 ? nil : links[Int(next)]?.place
        return records[owner, default: Record(first: -1)].add(slot, place, before: next, at: nextPlace)
    }

    mutating func remove(_ slot: Int32) {
        guard links.indices.contains(Int(slot)), let link = links[Int(slot)].take() else { return }
        if link.next >= 0 { links[Int(link.next)]?.previous = link.previous }
        if link.previous >= 0 { links[Int(link.previous)]?.next = link.next }
        records[link.owner]?.remove(slot, link.place)
        if link.previous < 0 { records[link.owner]?.first = link.next }
        if records[link.owner]?.count == 0 { records[link.owner] = nil }
        if records.isEmpty { links = [] }
    }

    mutating func removeAll(of owner: ObjectIdentifier) {
        for slot in all(of: owner) { remove(slot) }
    }

    /// Marks the repetitions of a place as reported.
    ///
    /// - Returns: False if they were already reported.
    mutating func markReported(_ place: Int, of owner: ObjectIdentifier) -> Bool {
        records[owner]?.reportedPlaces.insert(place).inserted == true
    }
}

extension OwnerIndex.Record {
    /// Adds a slot before another one.
    ///
    /// - Returns: The slot of the last added observation with this place, unless it was removed or a repetition was
    ///   already reported.
    fileprivate mutating func add(_ slot: Int32, _ place: Int?, before next: Int32, at nextPlace: Int?) -> Int32? {
        first = slot
        count += 1
        // Most owners have one observation, which needs no dictionary.
        if count == 2, let nextPlace { latest[nextPlace] = next }
        guard count > 1, let place else { return nil }
        let earlier = latest.updateValue(slot, forKey: place)
        return reportedPlaces.contains(place) ? nil : earlier
    }

    fileprivate mutating func remove(_ slot: Int32, _ place: Int?) {
        count -= 1
        if let place, latest[place] == slot { latest[place] = nil }
    }
}

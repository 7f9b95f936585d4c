/// The registrations by what they are for. They are in lists, one for each name or pattern and object filter, in order of
/// registration; adding and removing one takes constant time.
///
/// ```
/// name, or pattern -> place -> list of registrations without object filter
///                           -> object -> list of registrations that filter it
/// ```
struct RegistrationIndex: ~Copyable, Sendable {
    /// A name or a pattern that a registration is for.
    enum Subject {
        case name(UnsafeRawBufferPointer, hash: UInt64)
        case pattern(NamePattern)
    }

    private struct Record: BitwiseCopyable {
        var registration: Registration
        var firstLink: Int32
    }

    /// One registration in one list.
    private struct Link: BitwiseCopyable {
        let record: Int32
        let list: Int32
        var previous: Int32
        var next: Int32
        /// The next link of the same registration.
        let sibling: Int32
    }

    private struct List: BitwiseCopyable {
        let place: Int32
        /// The entry in `objects`, or -1 without object filter.
        let objectEntry: Int32
        var first: Int32 = -1
        var last: Int32 = -1
    }

    private struct Place: BitwiseCopyable {
        /// The entry in `names`, or -1 for a pattern.
        let nameEntry: Int32
        let end: NameTrie.End
        var everyObject: Int32 = -1
        var objectCount: Int32 = 0
    }

    private let hash: KeyedHash
    private var records = Pool<Record>()
    private var links = Pool<Link>()
    private var lists = Pool<List>()
    private var places = Pool<Place>()
    private var names = ByteTable()
    private var objects = ByteTable()
    private var trie: NameTrie
    private var patterns: [Int32: NamePattern] = [:]
    private var lastSerial: UInt64 = 0
    /// The places that match a name. Kept, so that no look-up allocates.
    private var matching = ReusableBuffer<Int32>()

    init(hash: KeyedHash, reservedFirstToken: String?) {
        self.hash = hash
        self.trie = NameTrie(hash: hash, reservedFirstToken: reservedFirstToken)
    }

    var count: Int { records.count }
    var nameCount: Int { names.count }

    /// The number of values that are stored for all registrations together, 0 without any.
    var footprint: Int {
        records.count + links.count + lists.count + places.count + names.count + objects.count + patterns.count
            + trie.nodeCount - 1
    }
}

// MARK: - Registrations

extension RegistrationIndex {
    /// The lower bits of an identity are the number of the record, the upper ones rise with each registration: whether a
    /// registration has ended takes a load and a comparison.
    private static let indexBits: UInt64 = 24

    mutating func insert(priority: Int32, slot: Int32) -> UInt64 {
        precondition(records.count < 1 << Self.indexBits - 1, "more than 16,777,214 registrations at once")
        lastSerial += 1
        let empty = Registration(id: 0, priority: priority, slot: slot)
        let index = records.insert(Record(registration: empty, firstLink: -1))
        let id = lastSerial << Self.indexBits | UInt64(index)
        records[index].registration = Registration(id: id, priority: priority, slot: slot)
        return id
    }

    @inline(__always)
    func contains(_ id: UInt64) -> Bool {
        record(of: id) != nil
    }

    private func record(of id: UInt64) -> Int32? {
        let index = Int32(truncatingIfNeeded: id & (1 << Self.indexBits - 1))
        guard Int(index) < records.extent, id != 0, records[index].registration.id == id else { return nil }
        return index
    }

    /// Removes the last link of a registration.
    ///
    /// - Parameter body: Called with what the registration was linked to. The bytes are valid during the call.
    /// - Returns: Whether there was a link.
    mutating func unlinkOne(
        of id: UInt64, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void
    ) -> Bool {
        guard let record = record(of: id) else { return false }
        let index = records[record].firstLink
        guard index >= 0 else { return false }
        let link = links[index]
        let list = lists[link.list]
        let place = places[list.place]
        let object = list.objectEntry >= 0 ? objects.bytes(ofEntry: list.objectEntry) : nil
        if place.nameEntry < 0, let pattern = patterns[list.place] {
            body(.pattern(pattern), object)
        } else {
            let name = names.bytes(ofEntry: place.nameEntry)
            body(.name(name, hash: hash(name)), object)
        }
        records[record].firstLink = link.sibling
        remove(link: index)
        return true
    }

    /// Removes the record of a registration that has no links any more.
    mutating func remove(_ id: UInt64) -> Bool {
        guard let record = record(of: id) else { return false }
        records[record].registration = Registration(id: 0, priority: 0, slot: 0)
        records.remove(record)
        return true
    }
}

// MARK: - Links

extension RegistrationIndex {
    mutating func link(_ id: UInt64, to subject: Subject, object: UnsafeRawBufferPointer?) {
        guard let record = record(of: id) else { return }
        let list = list(at: place(of: subject), for: object)
        let last = lists[list].last
        let link = links.insert(
            Link(record: record, list: list, previous: last, next: -1, sibling: records[record].firstLink))
        records[record].firstLink = link
        lists[list].last = link
        if last >= 0 { links[last].next = link } else { lists[list].first = link }
    }

    private mutating func place(of subject: Subject) -> Int32 {
        switch subject {
        case .name(let name, let hash):
            if let place = names.value(of: name, hash: hash) { return place }
            let nowhere = NameTrie.End(node: -1, isTail: false)
            let place = places.insert(Place(nameEntry: -1, end: nowhere))
            let entry = names.insert(name, hash: hash, value: place)
            places[place] = Place(nameEntry: entry, end: nowhere)
            return place
        case .pattern(let pattern):
            let end = pattern.withUTF8 { trie.end(of: $0) }
            if case let place = trie.place(at: end), place >= 0 { return place }
            let place = places.insert(Place(nameEntry: -1, end: end))
            trie.setPlace(place, at: end)
            patterns[place] = pattern
            return place
        }
    }

    private mutating func list(at place: Int32, for object: UnsafeRawBufferPointer?) -> Int32 {
        guard let object else {
            if places[place].everyObject < 0 {
                places[place].everyObject = lists.insert(List(place: place, objectEntry: -1))
            }
            return places[place].everyObject
        }
        let hash = hash(object)
        if let list = objects.value(of: object, hash: hash, scope: place) { return list }
        let list = lists.insert(List(place: place, objectEntry: -1))
        let entry = objects.insert(object, hash: hash, scope: place, value: list)
        lists[list] = List(place: place, objectEntry: entry)
        places[place].objectCount += 1
        return list
    }

    private mutating func remove(link index: Int32) {
        let link = links[index]
        if link.previous >= 0 { links[link.previous].next = link.next } else { lists[link.list].first = link.next }
        if link.next >= 0 { links[link.next].previous = link.previous } else { lists[link.list].last = link.previous }
        links.remove(index)
        if lists[link.list].first < 0 { remove(list: link.list) }
    }

    private mutating func remove(list index: Int32) {
        let list = lists[index]
        if list.objectEntry >= 0 {
            objects.remove(entry: list.objectEntry)
            places[list.place].objectCount -= 1
        } else {
            places[list.place].everyObject = -1
        }
        lists.remove(index)
        let place = places[list.place]
        if place.everyObject < 0 && place.objectCount == 0 { remove(place: list.place) }
    }

    private mutating func remove(place index: Int32) {
        let place = places[index]
        if place.nameEntry >= 0 {
            names.remove(entry: place.nameEntry)
        } else {
            trie.removePlace(at: place.end)
            patterns[index] = nil
        }
        places.remove(index)
    }
}

// MARK: - Resolution

extension RegistrationIndex {
    /// Adds the registrations that match a name with its object, in no particular order, once for each pattern that matches.
    mutating func gather(
        name: UnsafeRawBufferPointer, nameHash: UInt64, object: UnsafeRawBufferPointer?,
        into registrations: inout ReusableBuffer<Registration>
    ) {
        matching.removeAll()
        if let place = names.value(of: name, hash: nameHash) { matching.append(place) }
        trie.gather(name, into: &matching)
        if matching.isEmpty { return }

        var objectHash: UInt64?
        for index in matching.values {
            let place = places[index]
            if place.everyObject >= 0 { gather(place.everyObject, into: &registrations) }
            guard let object, place.objectCount > 0 else { continue }
            let hash = objectHash ?? hash(object)
            objectHash = hash
            if let list = objects.value(of: object, hash: hash, scope: index) { gather(list, into: &registrations) }
        }
    }

    private func gather(_ list: Int32, into registrations: inout ReusableBuffer<Registration>) {
        var index = lists[list].first
        while index >= 0 {
            let link = links[index]
            registrations.append(records[link.record].registration)
            index = link.next
        }
    }
}

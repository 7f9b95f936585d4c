/// The registrations of one scope, by subject (a name or pattern) and object filter. Each pair of a subject and an
/// object filter has a linked list of registrations, in order of registration. Adding an entry to a list and removing
/// one take constant time.
///
/// ```
/// name, or pattern -> place -> list of registrations without object filter
///                           -> object -> list of registrations that filter for it
/// ```
///
/// The time to resolve a name depends on the number of patterns that match it. ``overlap`` is an upper bound of the
/// work for one name, so that ``CenterCore`` can limit that work.
struct RegistrationIndex: ~Copyable, Sendable {
    /// The name or pattern that a registration is for.
    enum Subject {
        case name(UnsafeRawBufferPointer, hash: UInt64)
        case pattern(NamePattern)
    }

    private struct Record: BitwiseCopyable {
        var registration: Registration
        var firstLink: Int32
    }

    /// The entry of a registration in a list.
    private struct Link: BitwiseCopyable {
        let record: Int32
        let list: Int32
        var previous: Int32
        var next: Int32
        /// The next and the previous link of the same registration.
        var nextSibling: Int32
        var previousSibling: Int32 = -1
        /// The number of subscriptions of a subscriber that share the link, which `linkShared` counts; 0 for a link
        /// that `link` has made for the registration alone.
        var uses: Int32 = 0
    }

    private struct List: BitwiseCopyable {
        let place: Int32
        /// The entry in `objects`, or -1 if there is no object filter.
        let objectEntry: Int32
        var first: Int32 = -1
        var last: Int32 = -1
        var count: Int32 = 0
    }

    /// The lists of one name or pattern.
    private struct Place: BitwiseCopyable {
        /// The entry of the name in `names`, or -1 for a pattern.
        let nameEntry: Int32
        let end: NameTrie.End
        /// The list without object filter, or -1.
        var everyObject: Int32 = -1
        var objectCount: Int32 = 0
        /// An upper bound on the length of the lists with an object filter.
        var longestList: Int32 = 0
    }

    private let hash: KeyedHash
    /// Whether ``overlap`` is maintained.
    private let measuresOverlap: Bool
    private var records = Pool<Record>()
    private var links = Pool<Link>()
    private var lists = Pool<List>()
    private var places = Pool<Place>()
    private var names = ByteTable()
    private var objects = ByteTable()
    private var trie: NameTrie
    /// The shared links, by registration and list.
    private var sharedLinks = HashIndex()
    /// The places that match a name. A reusable buffer, so that a look-up does not allocate.
    private var matching = ReusableBuffer<Int32>()

    init(hash: KeyedHash, reservedFirstToken: String?, measuresOverlap: Bool) {
        self.hash = hash
        self.measuresOverlap = measuresOverlap
        self.trie = NameTrie(hash: hash, reservedFirstToken: reservedFirstToken)
    }

    var count: Int { records.count }
    var nameCount: Int { names.count }
    var nodeCount: Int { trie.nodeCount }

    /// The number of values stored for all registrations, 0 if there are none.
    var footprint: Int {
        records.count + links.count + lists.count + places.count + names.count + objects.count + sharedLinks.count
            + trie.nodeCount - 1
    }

    /// The vacant memory of the trie and of the links, in bytes. The other tables have little of it.
    var vacantByteCount: Int { links.vacantByteCount + trie.vacantByteCount }

    /// The memory of the registrations, in bytes.
    var byteCount: Int {
        records.byteCount + links.byteCount + lists.byteCount + places.byteCount + names.byteCount + objects.byteCount
            + sharedLinks.byteCount + trie.byteCount
    }
}

// MARK: - Registrations

extension RegistrationIndex {
    /// The number of lower bits of an identifier that hold the index of its record. The upper bits hold a serial
    /// number. So checking whether a registration has ended takes one load and one comparison.
    private static let indexBits: UInt64 = 24

    /// Adds a registration without links.
    ///
    /// - Parameter serial: A number that increases with each registration, whatever its scope.
    mutating func insert(priority: Int32, slot: Int32, serial: UInt64) -> UInt64 {
        precondition(records.count < 1 << Self.indexBits - 1, "a scope can have at most 16,777,215 registrations")
        let empty = Registration(id: 0, priority: priority, slot: slot)
        let index = records.insert(Record(registration: empty, firstLink: -1))
        let id = serial << Self.indexBits | UInt64(index)
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

    /// Removes the most recent link of a registration, with all its uses.
    ///
    /// - Parameter body: Called with the subject and the object of the link. The bytes are valid during the call.
    /// - Returns: Whether there was a link.
    mutating func unlinkOne(
        of id: UInt64, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void
    ) -> Bool {
        guard let record = record(of: id) else { return false }
        return unlinkOne(ofRecord: record, body)
    }

    @inline(__always)
    private mutating func unlinkOne(
        ofRecord record: Int32, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void
    ) -> Bool {
        let link = records[record].firstLink
        guard link >= 0 else { return false }
        withSubject(of: links[link].list, body)
        remove(link: link)
        return true
    }

    /// Ends one use of a shared link. Removes the link after its last use.
    ///
    /// - Parameter body: Called before the link is removed, as in ``unlinkOne(of:_:)``.
    mutating func unlink(shared link: Int32, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void) {
        links[link].uses -= 1
        guard links[link].uses == 0 else { return }
        // `remove(link:)` recognizes a shared link by its uses.
        links[link].uses = 1
        withSubject(of: links[link].list, body)
        remove(link: link)
    }

    // Inlined: a nonmutating method that is not inlined gets a copy of all fields.
    @inline(__always)
    private func withSubject(of number: Int32, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void) {
        let list = lists[number]
        let place = places[list.place]
        let object = list.objectEntry >= 0 ? objects.bytes(ofEntry: list.objectEntry) : nil
        if place.nameEntry < 0 {
            body(.pattern(trie.pattern(at: place.end)), object)
        } else {
            let name = names.bytes(ofEntry: place.nameEntry)
            body(.name(name, hash: hash(name)), object)
        }
    }

    /// The name or pattern of a link, and the object that it filters for.
    @inline(__always)
    func filter(of link: Int32) -> (pattern: String, object: String?) {
        var filter: (pattern: String, object: String?) = ("", nil)
        withSubject(of: links[link].list) { subject, object in
            let pattern =
                switch subject {
                case .name(let name, _): String(decoding: name, as: UTF8.self)
                case .pattern(let pattern): pattern.description
                }
            filter = (pattern, object.map { String(decoding: $0, as: UTF8.self) })
        }
        return filter
    }

    /// Ends a registration that still has links. No post reaches it any more.
    ///
    /// - Returns: The record of the registration, for ``remove(_:ofEnded:)``, or nil if the registration has already
    ///   ended.
    mutating func end(_ id: UInt64) -> Int32? {
        guard let record = record(of: id) else { return nil }
        records[record].registration = .none
        return record
    }

    /// Removes a limited number of the links of an ended registration. If no links remain, removes its record as well.
    ///
    /// - Returns: Whether the record was removed.
    mutating func remove(_ count: Int, ofEnded record: Int32) -> Bool {
        for _ in 0..<count {
            let link = records[record].firstLink
            if link < 0 { break }
            remove(link: link)
        }
        guard records[record].firstLink < 0 else { return false }
        records.remove(record)
        return true
    }

    /// Removes a registration and all its links.
    ///
    /// - Parameter body: Called before each link is removed, as in ``unlinkOne(of:_:)``.
    /// - Returns: False if the registration has already ended.
    mutating func remove(_ id: UInt64, _ body: (Subject, _ object: UnsafeRawBufferPointer?) -> Void) -> Bool {
        guard let record = record(of: id) else { return false }
        while unlinkOne(ofRecord: record, body) {}
        records[record].registration = .none
        records.remove(record)
        return true
    }
}

// MARK: - Links

extension RegistrationIndex {
    /// Links a registration to a subject.
    mutating func link(_ id: UInt64, to subject: Subject, object: UnsafeRawBufferPointer?) {
        guard let record = record(of: id) else { return }
        _ = insertLink(record, list(at: place(of: subject), for: object), uses: 0)
    }

    /// Links a registration to a subject, or adds a use to the existing link.
    ///
    /// - Returns: The link and whether it is new; nil if the registration does not exist.
    mutating func linkShared(
        _ id: UInt64, to subject: Subject, object: UnsafeRawBufferPointer?
    ) -> (link: Int32, isNew: Bool)? {
        guard let record = record(of: id) else { return nil }
        let list = list(at: place(of: subject), for: object)
        let hash = sharedHash(record, list)
        let known = sharedLinks.find(hash) { [links = links.pointerIfAny] link in
            links.map { $0[Int(link)].record == record && $0[Int(link)].list == list } ?? false
        }
        if let known {
            links[known].uses += 1
            return (known, false)
        }
        let link = insertLink(record, list, uses: 1)
        sharedLinks.insert(link, hash: hash)
        return (link, true)
    }

    private mutating func insertLink(_ record: Int32, _ list: Int32, uses: Int32) -> Int32 {
        let last = lists[list].last
        let sibling = records[record].firstLink
        let link = links.insert(
            Link(record: record, list: list, previous: last, next: -1, nextSibling: sibling, uses: uses))
        if sibling >= 0 { links[sibling].previousSibling = link }
        records[record].firstLink = link
        lists[list].last = link
        lists[list].count += 1
        if last >= 0 { links[last].next = link } else { lists[list].first = link }
        measure(list)
        return link
    }

    /// A keyed hash, so that peers can't choose links whose hashes collide.
    private func sharedHash(_ record: Int32, _ list: Int32) -> UInt32 {
        let numbers = (record, list)
        return UInt32(truncatingIfNeeded: withUnsafeBytes(of: numbers) { hash($0) })
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
        if link.uses > 0 { sharedLinks.remove(index, hash: sharedHash(link.record, link.list)) }
        if link.previousSibling >= 0 {
            links[link.previousSibling].nextSibling = link.nextSibling
        } else {
            records[link.record].firstLink = link.nextSibling
        }
        if link.nextSibling >= 0 { links[link.nextSibling].previousSibling = link.previousSibling }
        if link.previous >= 0 { links[link.previous].next = link.next } else { lists[link.list].first = link.next }
        if link.next >= 0 { links[link.next].previous = link.previous } else { lists[link.list].last = link.previous }
        lists[link.list].count -= 1
        links.remove(index)
        measure(link.list)
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
        }
        places.remove(index)
    }
}

// MARK: - Overlap

extension RegistrationIndex {
    /// An upper bound of the work of matching one name with the patterns, in visits of registrations. May be too high
    /// after removals.
    var overlap: Int { trie.overlap }

    /// The overlap is recomputed only if the trie has at most this many nodes for each link removed since the last
    /// time. This limit amortizes the cost of visiting every node.
    private static let nodesPerRemoval = 64
    /// The overlap of a trie with more nodes is not recomputed. For this many nodes, recomputing takes about 30 ms and
    /// blocks the caller.
    private static let maximumTightenedNodes = 1 << 19

    /// Recomputes ``overlap``, unless the trie has more nodes than `maximumTightenedNodes`, or more than
    /// `nodesPerRemoval` for each link removed since the last time. Links of rejected subscriptions count as removed.
    /// An added link also counts as removed if its list has an object filter and is shorter than the pattern's longest
    /// such list: the lengths alone do not show whether the list grew or shrank.
    ///
    /// - Returns: The number of visited nodes.
    mutating func tightenOverlap() -> Int {
        guard measuresOverlap, trie.nodeCount <= Self.maximumTightenedNodes,
            trie.removalsSinceTightening > trie.nodeCount / Self.nodesPerRemoval
        else { return 0 }
        for place in 0..<Int32(places.extent) { places[place].longestList = 0 }
        for number in 0..<Int32(lists.extent) where lists[number].first >= 0 && lists[number].objectEntry >= 0 {
            let list = lists[number]
            places[list.place].longestList = max(places[list.place].longestList, list.count)
        }
        trie.tightenOverlap { [places = places.pointerIfAny, lists = lists.pointerIfAny] place in
            guard let places, let lists else { return 0 }
            let every = places[Int(place)].everyObject
            return (every >= 0 ? lists[Int(every)].count : 0) + places[Int(place)].longestList
        }
        return trie.nodeCount
    }

    /// Updates the overlap after a list has changed.
    private mutating func measure(_ list: Int32) {
        guard measuresOverlap else { return }
        let index = lists[list].place
        guard places[index].nameEntry < 0 else { return }
        if lists[list].objectEntry >= 0 {
            if lists[list].count < places[index].longestList { trie.loosenOverlap() }
            places[index].longestList = max(places[index].longestList, lists[list].count)
        }
        let every = places[index].everyObject
        let length = (every >= 0 ? lists[every].count : 0) + places[index].longestList
        trie.setWeight(length, at: places[index].end)
    }
}

// MARK: - Resolution

extension RegistrationIndex {
    /// Adds the registrations that match a name and object, in no particular order, once for each matching link.
    ///
    /// - Returns: The work done, in visits of registrations.
    mutating func gather(
        name: UnsafeRawBufferPointer, nameHash: UInt64, object: UnsafeRawBufferPointer?,
        into registrations: inout ReusableBuffer<Registration>
    ) -> Int {
        if count == 0 { return 0 }
        matching.removeAll()
        let earlier = registrations.count
        if let place = names.value(of: name, hash: nameHash) { matching.append(place) }
        let work = trie.gather(name, into: &matching)
        if matching.isEmpty { return work }

        var objectHash: UInt64?
        for index in matching.values {
            let place = places[index]
            if place.everyObject >= 0 { gather(place.everyObject, into: &registrations) }
            guard let object, place.objectCount > 0 else { continue }
            let hash = objectHash ?? hash(object)
            objectHash = hash
            if let list = objects.value(of: object, hash: hash, scope: index) { gather(list, into: &registrations) }
        }
        return work &+ registrations.count &- earlier
    }

    private func gather(_ list: Int32, into registrations: inout ReusableBuffer<Registration>) {
        var index = lists[list].first
        while index >= 0 {
            let link = links[index]
            let registration = records[link.record].registration
            if !registration.isNone { registrations.append(registration) }
            index = link.next
        }
    }
}

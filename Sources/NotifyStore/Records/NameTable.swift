import NotifyCenter
import NotifyLog

/// The interned names of the stored messages. The database refers to a name by its id. Ids ascend from 1 and are never
/// reused. In memory, each name also has a small number, which is reused after the name is removed.
///
/// The bytes of all names are contiguous, and each name takes about 60 more bytes. Lookups by name allocate no string.
/// Hashes are keyed, so that peers can't choose names that collide.
struct NameTable: ~Copyable {
    /// The names. The number of a name is its entry in this table.
    private var names = ByteTable()
    /// The id of each name, by the name's number. Vacant numbers have an outdated id.
    private var ids: [UInt32] = []
    private var numbers: [UInt32: Int32] = [:]
    private let hash = KeyedHash.ofProcess
    /// The id of the next new name.
    private(set) var nextID: UInt32 = 1

    /// A name's place in the table, until it is removed.
    struct Number: Equatable {
        fileprivate let rawValue: Int32

        var index: Int { Int(rawValue) }
    }

    var count: Int { names.count }

    /// The memory that the table occupies, in bytes.
    var byteCount: Int { names.byteCount + ids.capacity * 4 + numbers.capacity * 9 }

    /// Whether no id is left for another name.
    var isExhausted: Bool { nextID == .max }

    /// Returns nil if the name is not in the table.
    func find(_ name: UnsafeRawBufferPointer) -> Number? {
        names.find(name, hash: hash(name)).map { Number(rawValue: $0) }
    }

    func number(ofID id: UInt32) -> Number? {
        numbers[id].map { Number(rawValue: $0) }
    }

    func id(of number: Number) -> UInt32 { ids[number.index] }

    /// Adds `name`, which must not be in the table. The table must not be exhausted.
    mutating func add(_ name: UnsafeRawBufferPointer) -> Number { add(name, id: nextID) }

    /// Adds a name of the database, whose id must not be in the table.
    @discardableResult
    mutating func add(_ name: UnsafeRawBufferPointer, id: UInt32) -> Number {
        let number = names.insert(name, hash: hash(name))
        if Int(number) == ids.count { ids.append(id) } else { ids[Int(number)] = id }
        numbers[id] = number
        nextID = max(nextID, id + 1)
        return Number(rawValue: number)
    }

    /// Ensures that new names get ids from `id` on. Names with lower ids may have been removed.
    mutating func skipIDs(below id: UInt32) {
        nextID = max(nextID, id)
    }

    /// The ids below a bound whose names fulfil a condition, at most `limit` of them.
    func ids(below end: UInt32, limit: Int, where condition: (Number) -> Bool) -> [UInt32] {
        var found: [UInt32] = []
        for (id, number) in numbers where id < end && condition(Number(rawValue: number)) {
            found.append(id)
            if found.count == limit { break }
        }
        return found
    }

    mutating func remove(id: UInt32) {
        guard let number = numbers.removeValue(forKey: id) else { return }
        names.remove(entry: number)
    }

    /// Removes the names that were added since `nextID` had this value.
    mutating func rollBack(toNextID earlier: UInt32) {
        for id in (earlier..<nextID).reversed() { remove(id: id) }
        nextID = earlier
    }

    /// Calls `body` with the bytes of a name.
    func withBytes<Result>(of number: Number, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        body(names.bytes(ofEntry: number.rawValue))
    }
}

extension NameTable {
    /// The size of the messages of an entry. Messages of an unknown name do not count as dead letters.
    func usage(of entry: SegmentEntry) -> StoredUsage {
        let (messages, bytes) = (Int(entry.messages), Int(entry.bytes))
        guard let number = number(ofID: entry.name) else { return StoredUsage(messages: messages, bytes: bytes) }
        return withBytes(of: number) { StoredUsage(messages: messages, bytes: bytes, name: $0) }
    }

    /// The size of the messages of some entries, for each user.
    func usage(of entries: some Sequence<SegmentEntry>) -> [UInt32: StoredUsage] {
        entries.reduce(into: [:]) { $0[$1.uid, default: StoredUsage()] += usage(of: $1) }
    }
}

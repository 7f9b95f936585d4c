import NotifyCenter
import NotifyLog

/// The records of values and marks, found by their keys. A record is in a numbered slot, which is reused after its
/// removal, so that a caller looks a key up once, and then accesses the record by its slot.
struct ValueTable {
    struct Record {
        let key: ValueKey
        /// The key of the name without the object; nil if there is no object.
        let nameKey: ValueKey?
        /// See `ValueChange.number`.
        var number: UInt64
        var committed: ValueEntry?
        /// The position of the change in the batch in flight, and in the next one; nil if there is none.
        var inFlight: Int32?
        var pending: Int32?
    }

    private var records = SlotMap<PlainSlotID, Record>()
    private var index = HashIndex()
    /// The records of names with objects, by the key of the name alone.
    private var recordsByName: [ValueKey: Set<Int32>] = [:]

    var count: Int { records.count }

    /// All records, in any order.
    var all: some Sequence<Record> { records.values }

    /// The slot of the record of a key; nil if there is none.
    @inline(__always)
    func find(_ key: ValueKey) -> Int32? {
        index.find(key.hash) { records[Int($0)].key == key }
    }

    /// The record in a slot; nil if the slot is vacant.
    func record(at slot: Int32) -> Record? { records.value(at: Int(slot)) }

    /// - Precondition: The slot has a record.
    subscript(slot: Int32) -> Record {
        @inline(__always) _read { yield records[Int(slot)] }
        @inline(__always) _modify { yield &records[Int(slot)] }
    }

    /// The slots of the records of a name with any object, but not that of the name alone.
    func slots(ofObjectsOf nameKey: ValueKey) -> Set<Int32> { recordsByName[nameKey] ?? [] }

    /// Adds a record of a key that is not in the table.
    ///
    /// - Returns: The slot.
    mutating func insert(_ key: ValueKey, nameKey: ValueKey?, number: UInt64) -> Int32 {
        assert(find(key) == nil)
        let slot = Int32(records.insert(Record(key: key, nameKey: nameKey, number: number)).index)
        index.insert(slot, hash: key.hash)
        if let nameKey { recordsByName[nameKey, default: []].insert(slot) }
        return slot
    }

    /// - Precondition: The slot has a record.
    mutating func remove(_ slot: Int32) {
        let record = self[slot]
        records.remove(at: Int(slot))
        index.remove(slot, hash: record.key.hash)
        guard let nameKey = record.nameKey else { return }
        recordsByName[nameKey]?.remove(slot)
        if recordsByName[nameKey]?.isEmpty == true { recordsByName[nameKey] = nil }
    }
}

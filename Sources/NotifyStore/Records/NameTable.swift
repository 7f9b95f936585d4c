import NotifyCenter

/// The interned names: maps ids to bytes and bytes to ids. Ids are consecutive from 1.
///
/// The bytes of all names are contiguous, and each entry takes about 40 more bytes, so that a million names take about
/// 65 MB. Lookups allocate no string. Hashes are keyed, so that peers can't choose names that collide.
struct NameTable: ~Copyable {
    /// Entry `id - 1` contains the name of `id`, because the table numbers entries from 0. Names are removed only from
    /// the end, so ids remain consecutive.
    private var names = ByteTable()
    private let hash = KeyedHash.ofProcess

    var count: Int { names.count }

    /// The memory that the table occupies, in bytes.
    var byteCount: Int { names.byteCount }

    /// The id of `name`, or nil if it has none yet.
    func find(_ name: UnsafeRawBufferPointer) -> UInt32? {
        names.find(name, hash: hash(name)).map { UInt32($0) + 1 }
    }

    /// Adds `name`, which must not be in the table, and returns its id.
    mutating func add(_ name: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(names.insert(name, hash: hash(name))) + 1
    }

    /// Removes all names but the first `kept`.
    mutating func truncate(to kept: Int) {
        while count > kept { names.remove(entry: Int32(count) - 1) }
    }

    func contains(id: UInt32) -> Bool {
        id >= 1 && id <= count
    }

    /// Calls `body` with the name of `id`, which must be in the table.
    func withBytes<Result>(of id: UInt32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(contains(id: id), "the id was not given to a name")
        return body(names.bytes(ofEntry: Int32(id) - 1))
    }
}

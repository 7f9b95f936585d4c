import NotifyCenter

/// The interned names: id to bytes and bytes to id, ids counting from 1 without holes.
///
/// Bytes lie back to back, and an entry takes about 40 more, so that a million names cost about 65 MB; a look-up makes no
/// string. Hashes are keyed, so that peers can't choose names that collide.
struct NameTable: ~Copyable {
    /// The entry of an id is the id less 1: the table numbers entries from 0, and removed ones from the last on are numbered
    /// the same when they come again.
    private var names = ByteTable()
    private let hash = KeyedHash.ofProcess

    var count: Int { names.count }

    /// The memory that the table occupies.
    var byteCount: Int { names.byteCount }

    /// The id of `name`, or nil if it has none yet.
    func find(_ name: UnsafeRawBufferPointer) -> UInt32? {
        names.find(name, hash: hash(name)).map { UInt32($0) + 1 }
    }

    /// Gives `name`, which has none yet, the next id.
    mutating func add(_ name: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(names.insert(name, hash: hash(name))) + 1
    }

    /// Takes back all names but the first `kept`.
    mutating func truncate(to kept: Int) {
        while count > kept { names.remove(entry: Int32(count) - 1) }
    }

    func contains(id: UInt32) -> Bool {
        id >= 1 && id <= count
    }

    /// Calls `body` with the name of `id`, which must be one that was given.
    func withBytes<Result>(of id: UInt32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        precondition(contains(id: id), "the id was not given to a name")
        return body(names.bytes(ofEntry: Int32(id) - 1))
    }
}

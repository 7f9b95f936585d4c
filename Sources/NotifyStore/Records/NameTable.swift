import Glibc

/// The interned names: id to bytes and bytes to id, ids counting from 1 without holes.
///
/// Bytes lie back to back, and the index is a flat table of ids beside part of their hashes, so a million names cost
/// their bytes and about 30 more each, and looking one up makes no string.
struct NameTable {
    private var bytes: [UInt8] = []
    /// Where each name ends in `bytes`; before the first one stands a 0.
    private var ends: [Int] = [0]
    /// Open addressing: hash in the upper half, id in the lower; 0 where empty.
    private var slots = [UInt64](repeating: 0, count: 64)

    var count: Int { ends.count - 1 }

    /// The id of `name`, or nil where it has none yet.
    func find(_ name: UnsafeRawBufferPointer) -> UInt32? {
        let hash = Self.hash(name)
        var slot = Int(hash) & (slots.count - 1)
        while slots[slot] != 0 {
            let id = UInt32(truncatingIfNeeded: slots[slot])
            if UInt32(truncatingIfNeeded: slots[slot] >> 32) == hash, isEqual(id, name) { return id }
            slot = (slot + 1) & (slots.count - 1)
        }
        return nil
    }

    /// Gives `name`, which has none yet, the next id.
    mutating func add(_ name: UnsafeRawBufferPointer) -> UInt32 {
        bytes.append(contentsOf: name)
        ends.append(bytes.count)
        if count * 2 > slots.count { grow() }
        let id = UInt32(count)
        place(UInt64(Self.hash(name)) << 32 | UInt64(id))
        return id
    }

    /// Takes back all names but the first `kept`.
    ///
    /// They leave in the reverse order of their coming, so each slot emptied was empty before its name came and no
    /// other name was ever looked for beyond it.
    mutating func truncate(to kept: Int) {
        while count > kept {
            let hash = withBytes(of: UInt32(count)) { Self.hash($0) }
            var slot = Int(hash) & (slots.count - 1)
            while UInt32(truncatingIfNeeded: slots[slot]) != UInt32(count) { slot = (slot + 1) & (slots.count - 1) }
            slots[slot] = 0
            ends.removeLast()
            bytes.removeLast(bytes.count - ends[count])
        }
    }

    func contains(id: UInt32) -> Bool {
        id >= 1 && id <= count
    }

    /// Calls `body` with the name of `id`, which must be one that was given.
    func withBytes<Result>(of id: UInt32, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = ends[Int(id) - 1]
        let end = ends[Int(id)]
        return bytes.withUnsafeBytes { body(UnsafeRawBufferPointer(rebasing: $0[start..<end])) }
    }

    private func isEqual(_ id: UInt32, _ name: UnsafeRawBufferPointer) -> Bool {
        withBytes(of: id) { known in
            guard known.count == name.count, let left = known.baseAddress, let right = name.baseAddress else {
                return known.count == name.count
            }
            return memcmp(left, right, known.count) == 0
        }
    }

    private mutating func place(_ entry: UInt64) {
        var slot = Int(entry >> 32) & (slots.count - 1)
        while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
        slots[slot] = entry
    }

    /// Doubles the index. Entries come in order of id, as if the table had always had this size.
    private mutating func grow() {
        var entries = [UInt64](repeating: 0, count: count)
        for entry in slots where entry != 0 { entries[Int(UInt32(truncatingIfNeeded: entry)) - 1] = entry }
        slots = [UInt64](repeating: 0, count: slots.count * 2)
        for entry in entries where entry != 0 { place(entry) }
    }

    /// Seeded for each process, so that nobody can choose names that all fall together.
    private static func hash(_ name: UnsafeRawBufferPointer) -> UInt32 {
        var hasher = Hasher()
        hasher.combine(bytes: name)
        return UInt32(truncatingIfNeeded: hasher.finalize())
    }
}

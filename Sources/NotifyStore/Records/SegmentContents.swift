import NotifyLog

/// The contents of segments by user: the number and bytes of messages, and the distinct names.
struct SegmentContents {
    private(set) var usage: [UInt32: StoredUsage] = [:]
    private(set) var names: [UInt32: StoredNameSet] = [:]
    /// The user of each name's latest entry, by the name's number. This saves most lookups, because most names have the
    /// messages of one user.
    private var latestUsers: [UInt32?] = []

    mutating func add(_ entries: some Sequence<SegmentEntry>, _ table: borrowing NameTable) {
        for entry in entries {
            usage[entry.uid, default: StoredUsage()] += table.usage(of: entry)
            guard let name = table.number(ofID: entry.name) else { continue }
            if name.index >= latestUsers.count {
                latestUsers.append(
                    contentsOf: repeatElement(nil, count: max(name.index + 1 - latestUsers.count, latestUsers.count)))
            }
            guard latestUsers[name.index] != entry.uid else { continue }
            latestUsers[name.index] = entry.uid
            table.withBytes(of: name) { bytes in
                _ = names[entry.uid, default: StoredNameSet()].insert(
                    hash: StoredNameSet.hash(bytes), length: bytes.count)
            }
        }
    }
}

import NotifyLog
import NotifyWire

/// A cache of the names that a subscription receives: those that its filter matches and its rights permit. Each name is
/// matched when it is first read, because matching a million names at once would delay commits.
struct FilterMatchCache {
    private enum Entry: UInt64 {
        case unknown
        case mismatch
        case match
    }

    let filter: SubscriptionFilter
    /// The rights under which names were matched.
    let access: ReadAccess
    /// Two bits for each number of a name.
    private var entries: [UInt64] = []
    /// The number of names looked up in the filter so far, matching or not.
    private(set) var count = 0

    init(filter: SubscriptionFilter, access: ReadAccess) {
        self.filter = filter
        self.access = access
    }

    var byteCount: Int { entries.capacity * MemoryLayout<UInt64>.stride }

    /// Forgets a name that is removed, because its number may be given to another name.
    mutating func forget(_ number: NameTable.Number) {
        let word = number.index >> 5
        if word < entries.count { entries[word] &= ~(3 << (UInt64(number.index & 31) * 2)) }
    }

    /// Whether the subscription receives the name with this number. The name must be in `names`.
    mutating func matches(_ number: NameTable.Number, in names: borrowing NameTable) -> Bool {
        let word = number.index >> 5
        let shift = UInt64(number.index & 31) * 2
        if word < entries.count, let entry = Entry(rawValue: entries[word] >> shift & 3), entry != .unknown {
            return entry == .match
        }
        if word >= entries.count {
            entries.append(contentsOf: repeatElement(0, count: word + 1 - entries.count))
        }
        let isMatch = names.withBytes(of: number) { filter.matches(name: $0) && access.permits($0) }
        entries[word] |= (isMatch ? Entry.match : .mismatch).rawValue << shift
        count += 1
        return isMatch
    }
}

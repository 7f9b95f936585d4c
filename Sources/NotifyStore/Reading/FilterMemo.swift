import NotifyLog
import NotifyWire

/// What is known of which names a subscription's filter matches. Names are judged when they first come up, not all
/// at once: with a million names that would hold up the commits.
struct FilterMemo {
    enum Verdict: UInt64 {
        case unknown
        case other
        case matching
    }

    let filter: SubscriptionFilter
    /// The rights under which names were judged.
    let access: ReadAccess
    /// Two bits for each name id.
    private var verdicts: [UInt64] = []
    /// How many names were judged so far.
    private(set) var judged = 0

    init(filter: SubscriptionFilter, access: ReadAccess) {
        self.filter = filter
        self.access = access
    }

    var byteCount: Int { verdicts.capacity * MemoryLayout<UInt64>.stride }

    /// Whether the name `id`, which must be in `names`, is for the subscription.
    mutating func matches(_ id: UInt32, in names: borrowing NameTable) -> Bool {
        let word = Int(id >> 5)
        let shift = UInt64(id & 31) * 2
        if word < verdicts.count, let known = Verdict(rawValue: verdicts[word] >> shift & 3), known != .unknown {
            return known == .matching
        }
        if word >= verdicts.count {
            verdicts.append(contentsOf: repeatElement(0, count: word + 1 - verdicts.count))
        }
        let isMatching = names.withBytes(of: id) { filter.matches(name: $0) && access.permits($0) }
        let verdict: Verdict = isMatching ? .matching : .other
        verdicts[word] |= verdict.rawValue << shift
        judged += 1
        return verdict == .matching
    }
}

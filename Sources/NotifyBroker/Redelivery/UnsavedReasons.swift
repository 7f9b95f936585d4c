/// The messages whose rows in the log are out of date, each with the reason of its last failure.
struct UnsavedReasons {
    /// The memory of a message without its reason, in bytes.
    private static let entryBytes = 64

    private(set) var all: [UInt64: String] = [:]
    private var reasonBytes = 0

    var isEmpty: Bool { all.isEmpty }
    var count: Int { all.count }
    var byteCount: Int { all.count * Self.entryBytes + reasonBytes }

    /// The reason of a message; nil if its row is up to date.
    subscript(sequence: UInt64) -> String? {
        get { all[sequence] }
        set {
            let earlier = all[sequence]
            all[sequence] = newValue
            reasonBytes += (newValue?.utf8.count ?? 0) - (earlier?.utf8.count ?? 0)
        }
    }

    /// Adds messages that could not be saved, except those that have changed since.
    mutating func restore(_ reasons: [UInt64: String]) {
        for (sequence, reason) in reasons where all[sequence] == nil { self[sequence] = reason }
    }
}

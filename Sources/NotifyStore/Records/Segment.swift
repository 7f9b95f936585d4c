import NotifyLog

/// The bounds and totals of a segment: successive messages of the log. A segment is the unit in which reads skip
/// messages that do not match, and in which retention decides.
///
/// Sequences within the bounds may belong to volatile posts, or to messages that were deleted.
struct Segment: Equatable {
    /// The lowest and the highest sequence.
    var first: UInt64 = 0
    var last: UInt64 = 0
    var messages = 0
    var bytes = 0
    /// The earliest and the latest wall-clock time of a message, in microseconds since 1970.
    var earliest: UInt64 = .max
    var latest: UInt64 = 0

    mutating func add(_ sequence: UInt64, time: UInt64, bytes: Int) {
        if messages == 0 { first = sequence }
        last = sequence
        messages += 1
        self.bytes += bytes
        earliest = min(earliest, time)
        latest = max(latest, time)
    }
}

/// The messages of a name and a user in a segment: their number, and their size as in `StoredUsage`.
struct SegmentEntry: Equatable {
    var name: UInt32
    var uid: UInt32
    var messages: UInt32
    var bytes: UInt64

    /// Identifies an entry within its segment.
    struct Key: Hashable {
        var name: UInt32
        var uid: UInt32

        static let damaged = Key(name: unknownName, uid: 0)

        init(name: UInt32, uid: UInt32) {
            self.name = name
            self.uid = uid
        }

        /// Reads the key of a stored message.
        init(_ column: UInt64) {
            self.init(name: UInt32(column >> 32), uid: UInt32(truncatingIfNeeded: column))
        }

        /// The key as stored with a message.
        var column: UInt64 { UInt64(name) << 32 | UInt64(uid) }
    }

    /// An id that no name has. In an entry, it stands for the damaged messages of a segment, whose names and users are
    /// unknown.
    static let unknownName: UInt32 = 0

    var isDamaged: Bool { name == Self.unknownName }

    var key: Key { Key(name: name, uid: uid) }
}

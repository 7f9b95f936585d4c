import DequeModule
import HeapModule
import NotifyLog
import NotifyWire

/// The values that live as long as a connection, and the marks of those that were cleared. Nothing of them is stored.
struct Announcements {
    /// A value whose connection has ended.
    private struct Absence: Comparable {
        let until: Duration
        let key: ValueKey
        let sequence: UInt64

        static func < (left: Absence, right: Absence) -> Bool {
            (left.until, left.sequence) < (right.until, right.sequence)
        }

        static func == (left: Absence, right: Absence) -> Bool {
            (left.until, left.sequence) == (right.until, right.sequence)
        }
    }

    /// The values of a connection, by the sequences of their messages. Some may have been replaced or cleared.
    private struct ConnectionValues {
        var order = KeyOrder()
        /// The number of present values.
        var count = 0
    }

    /// A connection that has ended, and its values that were not ended yet.
    private struct EndedConnection {
        let uid: UInt32
        let time: Duration
        var remaining: ArraySlice<(number: UInt64, key: ValueKey)>
    }

    /// What waits to end.
    private enum Ending {
        /// The value whose message has this sequence. It may have been replaced.
        case value(sequence: UInt64, key: ValueKey)
        /// The next value of a connection that has ended.
        case connection(ConnectionID)
    }

    /// The place of a value or mark in the orders.
    private struct Position {
        /// The number of the value; 0 for a mark.
        let number: UInt64
        let sequence: UInt64
    }

    /// The maximum number of marks, and of their bytes. A watch whose position is older reads all announced values again.
    private static let maximumMarks = 16_384
    private static let maximumMarkBytes = 16 << 20

    private var entries: [ValueKey: Announcement] = [:]
    private var marks: [ValueKey: AnnouncementMark] = [:]
    private var markBytes = 0
    /// The positions of all values and marks.
    private var positions: [ValueKey: Position] = [:]
    /// The marks by sequence, the oldest first. Some may have been replaced.
    private var markOrder: Deque<(sequence: UInt64, key: ValueKey)> = []
    /// The keys of values with objects, by the key of the name alone.
    private var objects: [ValueKey: Set<ValueKey>] = [:]
    private var connections: [ConnectionID: ConnectionValues] = [:]
    private var endedConnections: [ConnectionID: EndedConnection] = [:]
    private var absences = Heap<Absence>()
    private var endings = UserQueue<Ending>()
    /// The values by number.
    private(set) var numbers = KeyOrder()
    /// The values and marks by sequence.
    private(set) var changes = KeyOrder()
    /// Which values were cleared up to this sequence is unknown.
    private(set) var forgottenThrough: UInt64 = 0
    /// The messages that have changed values in this tick, for the requests that wait for them.
    private var changed: [LogBlock] = []
    /// The deliveries of messages about values that have ended.
    var endDeliveries = 0

    var count: Int { entries.count }

    /// The announced value of a key; nil if there is none.
    subscript(key: ValueKey) -> Announcement? { entries[key] }

    /// The mark of a key; nil if there is none.
    func mark(_ key: ValueKey) -> AnnouncementMark? { marks[key] }

    /// The number of values that a connection has announced.
    func count(of connection: ConnectionID) -> Int { connections[connection]?.count ?? 0 }

    /// The number for the next new value.
    var nextNumber: UInt64 { numbers.last + 1 }

    /// A value of a name, with any object; nil if there is none.
    func value(ofName nameKey: ValueKey) -> Announcement? {
        entries[nameKey] ?? objects[nameKey]?.first.flatMap { entries[$0] }
    }

    // MARK: Changing

    /// Adds a value, or replaces the one of its key.
    ///
    /// - Returns: The replaced value.
    mutating func insert(_ announcement: Announcement) -> Announcement? {
        let key = announcement.key
        let old = remove(key)
        removeMark(key)
        entries[key] = announcement
        if let nameKey = announcement.nameKey { objects[nameKey, default: []].insert(key) }
        positions[key] = Position(number: announcement.number, sequence: announcement.sequence)
        if old?.number != announcement.number { numbers.append(announcement.number, key) }
        changes.append(announcement.sequence, key)
        compact()
        if let connection = announcement.connection { add(key, announcement.sequence, to: connection) }
        return old
    }

    private mutating func add(_ key: ValueKey, _ sequence: UInt64, to connection: ConnectionID) {
        let positions = positions
        var values = connections.removeValue(forKey: connection) ?? ConnectionValues()
        values.count += 1
        values.order.append(sequence, key)
        values.order.compact(count: values.count) { positions[$1]?.sequence == $0 }
        connections[connection] = values
    }

    /// Removes a value, and keeps a mark.
    mutating func clear(_ key: ValueKey, _ mark: AnnouncementMark) {
        _ = remove(key)
        marks[key] = mark
        markBytes += mark.byteCount
        positions[key] = Position(number: 0, sequence: mark.sequence)
        markOrder.append((mark.sequence, key))
        changes.append(mark.sequence, key)
        while marks.count > Self.maximumMarks || markBytes > Self.maximumMarkBytes
            || markOrder.count > 2 * Self.maximumMarks, let oldest = markOrder.popFirst()
        {
            guard marks[oldest.key]?.sequence == oldest.sequence else { continue }
            removeMark(oldest.key)
            positions[oldest.key] = nil
            forgottenThrough = oldest.sequence
        }
        compact()
    }

    private mutating func removeMark(_ key: ValueKey) {
        guard let mark = marks.removeValue(forKey: key) else { return }
        markBytes -= mark.byteCount
    }

    private mutating func remove(_ key: ValueKey) -> Announcement? {
        guard let old = entries.removeValue(forKey: key) else { return nil }
        if let nameKey = old.nameKey {
            objects[nameKey]?.remove(key)
            if objects[nameKey]?.isEmpty == true { objects[nameKey] = nil }
        }
        if let connection = old.connection {
            connections[connection]?.count -= 1
            if connections[connection]?.count == 0 { connections[connection] = nil }
        }
        return old
    }

    private mutating func compact() {
        let positions = positions
        numbers.compact(count: entries.count) { positions[$1]?.number == $0 }
        changes.compact(count: positions.count) { positions[$1]?.sequence == $0 }
    }

    /// Removes all values and marks, without clearing the values.
    ///
    /// - Returns: The removed values.
    mutating func removeAll() -> [Announcement] {
        defer { self = Announcements() }
        return Array(entries.values)
    }

    // MARK: Ending

    /// Records the end of a connection. Its values end in later turns of the event loop, at once or after their grace
    /// period.
    ///
    /// - Returns: Whether the connection had announced any.
    mutating func connectionEnded(_ connection: ConnectionID, uid: UInt32, now: Duration) -> Bool {
        guard let values = connections.removeValue(forKey: connection) else { return false }
        endedConnections[connection] = EndedConnection(uid: uid, time: now, remaining: values.order.pairs[...])
        endings.append(.connection(connection), of: uid)
        return true
    }

    /// Lets a value end, at once or after its grace period, if its connection has ended.
    mutating func endIfConnectionEnded(_ key: ValueKey) {
        guard let entry = entries[key], let connection = entry.connection, let ended = endedConnections[connection]
        else { return }
        guard entry.grace > .zero else {
            entries[key]?.presence = .ending
            return
        }
        let until = ended.time + entry.grace
        entries[key]?.presence = .absent(until: until)
        // Most are obsolete if clients announce their values again soon.
        if absences.count > 2 * entries.count + 64 {
            absences = Heap(absences.unordered.filter { entries[$0.key]?.sequence == $0.sequence })
        }
        absences.insert(Absence(until: until, key: key, sequence: entry.sequence))
    }

    /// The end of the next grace period; nil if there is none. The value may have been announced again.
    var nextDeadline: Duration? { absences.min?.until }

    /// The number of ends of connections that are remembered, also obsolete ones.
    var absenceCount: Int { absences.count }

    /// The maximum number of values whose grace period ends in one turn of the event loop.
    static let expiredPerTurn = 1_024

    /// Ends values whose grace period has passed. If there are more, the next deadline is not after `now`.
    mutating func expire(now: Duration) {
        for _ in 0..<Self.expiredPerTurn {
            guard let absence = absences.min, absence.until <= now else { return }
            absences.removeMin()
            guard let entry = entries[absence.key], entry.presence == .absent(until: absence.until) else { continue }
            entries[entry.key]?.presence = .ending
            endings.append(.value(sequence: entry.sequence, key: entry.key), of: entry.poster.uid)
        }
    }

    /// Whether values wait to end.
    var hasEndings: Bool { !endings.isEmpty }

    /// The maximum number of values that are visited to find the next one to clear.
    private static let visitsPerEnding = 256

    /// Takes the next value to clear, of the user whose turn it is; nil if none was found yet. The value stays until it
    /// is cleared.
    mutating func nextEnding() -> Announcement? {
        for _ in 0..<Self.visitsPerEnding {
            guard let ending = endings.next() else { return nil }
            let (sequence, key): (UInt64, ValueKey)
            switch ending {
            case .value(let ending, let endingKey): (sequence, key) = (ending, endingKey)
            case .connection(let connection):
                guard let next = endedConnections[connection]?.remaining.popFirst(),
                    let uid = endedConnections[connection]?.uid
                else {
                    endedConnections[connection] = nil
                    continue
                }
                (sequence, key) = next
                endings.append(.connection(connection), of: uid)
                endIfConnectionEnded(key)
            }
            if let entry = entries[key], entry.sequence == sequence, entry.presence == .ending { return entry }
        }
        return nil
    }

    // MARK: Waiting requests

    /// Records a message that has changed a value.
    mutating func noteChange(_ message: LogBlock) { changed.append(message) }

    /// Whether recorded messages wait to be taken.
    var haveChanged: Bool { !changed.isEmpty }

    /// Takes the messages that have changed values since the last call.
    mutating func takeChanges() -> [LogBlock] { exchange(&changed, with: []) }
}

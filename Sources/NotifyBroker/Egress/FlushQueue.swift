import DequeModule

/// The connections whose output waits for a turn of the event loop, by user. Users take turns, and so do a user's
/// connections.
struct FlushQueue {
    private var lanes: [UInt32: Deque<ConnectionID>] = [:]
    private var users: Deque<UInt32> = []

    var isEmpty: Bool { users.isEmpty }

    mutating func append(_ id: ConnectionID, of uid: UInt32) {
        if lanes[uid] == nil { users.append(uid) }
        lanes[uid, default: []].append(id)
    }

    /// Takes the next connection, which may have been closed.
    mutating func next() -> ConnectionID? {
        guard let uid = users.popFirst(), var lane = lanes.removeValue(forKey: uid) else { return nil }
        let id = lane.popFirst()
        if !lane.isEmpty {
            lanes[uid] = lane
            users.append(uid)
        }
        return id
    }
}

import Algorithms
import DequeModule
import NotifyCenter

/// The servers with the same identity and the same patterns, and the calls that wait for one of them.
struct Service {
    struct Key: Hashable {
        let identity: IdentityID
        /// The patterns, sorted and unique.
        let patterns: [NamePattern]
    }

    /// The maximum number of servers. Limited because a call is compared with all of them.
    static let maximumServers = 1_024

    let key: Key
    let uid: UInt32
    /// The registration in the center of services.
    let registration: UInt64
    var servers: [ServerID] = []
    /// The calls that wait, in the order in which they were asked. Some may be answered, handed to a server of another
    /// service that matches, too, or sent to services of another user.
    private(set) var waiting: Deque<CallID> = []
    /// The number of waiting calls at which those that do not wait any more are removed.
    private var waitingLimit = 64

    init(key: Key, uid: UInt32, registration: UInt64) {
        self.key = key
        self.uid = uid
        self.registration = registration
    }

    /// Adds a call to the queue. A call that a server has returned gets its old place.
    mutating func queue(_ call: CallID, _ isWaiting: (CallID) -> Bool) {
        if waiting.count >= waitingLimit {
            waiting.removeAll { !isWaiting($0) }
            waitingLimit = max(64, 2 * waiting.count)
        }
        let place = waiting.partitioningIndex { $0.generation >= call.generation }
        guard place == waiting.endIndex || waiting[place] != call else { return }
        waiting.insert(call, at: place)
    }

    /// Takes the first waiting call that satisfies the predicate.
    ///
    /// - Parameter isWaiting: Whether a call in the queue still waits. Others are removed.
    /// - Returns: The call, and the number of calls that were visited.
    mutating func takeFirst(
        _ isWaiting: (CallID) -> Bool, where isEligible: (CallID) -> Bool
    ) -> (call: CallID?, visits: Int) {
        var visits = 0
        while let first = waiting.first, !isWaiting(first) {
            waiting.removeFirst()
            visits += 1
        }
        guard let index = waiting.firstIndex(where: { isWaiting($0) && isEligible($0) }) else {
            return (nil, visits + waiting.count)
        }
        return (waiting.remove(at: index), visits + index)
    }

    /// Removes and returns all calls of the queue.
    mutating func takeWaiting() -> [CallID] {
        defer { waiting = [] }
        return Array(waiting)
    }
}

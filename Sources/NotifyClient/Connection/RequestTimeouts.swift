import DequeModule
import HeapModule

/// Finds the requests that were not answered within their time limit. A pure state machine: time is an argument.
///
/// Most requests with the common limit do not read the clock. A mark records the requests that exist at one moment.
/// A request expires if it is still pending when the limit has passed since its mark. Marks are an eighth of the limit
/// apart, so a request expires at most an eighth of the limit too late. A request with a limit of its own expires at
/// its deadline.
struct RequestTimeouts {
    /// The requests that exist at one moment: requests with a lower number, and waiting posts with a lower place.
    struct Mark: Equatable {
        var time: Duration
        var request: UInt64
        var place: UInt64
    }

    /// A request or the posts of a pipeline that have a time limit of their own.
    enum Limited {
        case request(any RequestSlot)
        /// The posts of a pipeline before an index.
        case posts(of: PipelineBuffer, before: UInt64)

        var isAnswered: Bool {
            switch self {
            case .request(let slot): slot.isAnswered
            case .posts(let buffer, let end): buffer.isKnown(before: end)
            }
        }
    }

    /// A request or posts with their own deadline. Earlier deadlines come first.
    private struct Own: Comparable {
        let deadline: Duration
        let limited: Limited

        static func < (first: Self, second: Self) -> Bool { first.deadline < second.deadline }
        static func == (first: Self, second: Self) -> Bool { first.deadline == second.deadline }
    }

    /// The shortest common limit. With a limit of zero, every mark would expire as soon as it is added.
    static let shortestLimit = Duration.milliseconds(1)

    let limit: Duration
    private var marks: Deque<Mark> = []
    /// The time of the next mark; nil if none is scheduled.
    private var nextMark: Duration?
    private var own = Heap<Own>()
    /// The number of entries in `own` at which the entries of answered requests are removed.
    private var ownLimit = 64

    init(limit: Duration) {
        self.limit = max(limit, Self.shortestLimit)
    }

    /// The time at which to call `timeReached`; nil for never.
    var nextDeadline: Duration? {
        let earliest = Duration?.earlier(nextMark, marks.first.map { $0.time + limit })
        return .earlier(earliest, own.min?.deadline)
    }

    /// Must be called when a request was sent or a post waits. `request` and `place` are the numbers that the next
    /// request and the next post will get.
    mutating func added(request: UInt64, place: UInt64, now: @autoclosure () -> Duration) {
        guard nextMark == nil else { return }
        addMark(Mark(time: now(), request: request, place: place))
    }

    private mutating func addMark(_ mark: Mark) {
        marks.append(mark)
        nextMark = mark.time + limit / 8
    }

    /// Returns the latest mark whose requests have expired; nil if there is none. `request` and `place` are the numbers
    /// that the next request and the next post will get.
    ///
    /// - Parameter isWaiting: Whether posts wait. They become requests later, so a further mark is needed.
    mutating func timeReached(_ now: Duration, request: UInt64, place: UInt64, isWaiting: Bool) -> Mark? {
        if let moment = nextMark, moment <= now {
            nextMark = nil
            let isNew = marks.last.map { $0.request < request || $0.place < place } ?? true
            if isNew || isWaiting { addMark(Mark(time: now, request: request, place: place)) }
        }
        var expired: Mark?
        while let first = marks.first, first.time + limit <= now { expired = marks.popFirst() }
        return expired
    }

    /// Must be called when the connection has begun or ended. The common time limit of its requests and of waiting
    /// posts begins again. Limits of their own do not change.
    mutating func restart() {
        marks.removeAll()
        nextMark = nil
    }

    // MARK: Limits of their own

    /// Adds a request, or posts of a pipeline, with a limit of their own.
    mutating func add(_ limited: Limited, until deadline: Duration) {
        if own.count >= ownLimit {
            own = Heap(own.unordered.filter { !$0.limited.isAnswered })
            ownLimit = max(64, 2 * own.count)
        }
        own.insert(Own(deadline: deadline, limited: limited))
    }

    /// Removes the requests and posts whose own deadline has passed, and returns those without an answer.
    mutating func takeExpired(_ now: Duration) -> [Limited] {
        var expired: [Limited] = []
        while let first = own.min, first.deadline <= now {
            own.removeMin()
            if !first.limited.isAnswered { expired.add(first.limited) }
        }
        return expired
    }
}

extension [RequestTimeouts.Limited] {
    /// Adds a request or posts. Posts of the same pipeline are merged into one element, because the caller searches all
    /// pending requests for each element.
    fileprivate mutating func add(_ limited: Element) {
        guard case .posts(let buffer, let end) = limited, let index = firstIndex(where: { $0.isPosts(of: buffer) }),
            case .posts(_, let other) = self[index]
        else { return append(limited) }
        self[index] = .posts(of: buffer, before: Swift.max(end, other))
    }
}

extension RequestTimeouts.Limited {
    fileprivate func isPosts(of buffer: PipelineBuffer) -> Bool {
        if case .posts(let mine, _) = self { mine === buffer } else { false }
    }
}

import DequeModule

/// A pure bounded FIFO of elements and of posts that wait for room. The caller releases returned elements outside the
/// lock, because releasing them may call the center. Not thread-safe.
struct Mailbox<Element: Sendable>: Sendable {
    /// A post that waits for room, and its element.
    struct Poster: Sendable {
        let element: Element
        let post: WaitingPost
    }

    enum Put {
        case stored
        /// Stored. This element was dropped to make room.
        case replaced(Element)
        /// Not stored, because the mailbox is full or closed, or has accepted its only element.
        case refused
        /// The post waits for room.
        case waiting
    }

    /// An element, and the waiting post whose element took its place.
    typealias Taken = (element: Element, admitted: WaitingPost?)
    typealias Remaining = (elements: Deque<Element>, posters: Deque<Poster>)

    /// The high-water mark above which an empty mailbox releases its memory.
    private static var retainedCapacity: Int { 64 }

    private let buffering: Buffering
    private let acceptsOne: Bool
    private var elements: Deque<Element> = []
    /// The posts that wait for room. Empty while there is room.
    private var posters: Deque<Poster> = []
    private var highWaterMark = 0
    private var acceptsMore = true

    /// The number of elements dropped because the mailbox was full.
    private(set) var droppedCount = 0
    private(set) var isClosed = false

    /// - Parameter acceptsOne: Whether all elements after the first are refused.
    init(_ buffering: Buffering, acceptsOne: Bool = false) {
        self.buffering = buffering
        self.acceptsOne = acceptsOne
    }

    var isEmpty: Bool { elements.isEmpty }

    private var isFull: Bool { elements.count >= buffering.limit }

    mutating func put(_ element: Element) -> Put {
        guard acceptsMore else { return .refused }
        guard isFull else {
            store(element)
            return .stored
        }
        droppedCount += 1
        guard buffering.overflow == .dropOldest, let oldest = elements.popFirst() else { return .refused }
        store(element)
        return .replaced(oldest)
    }

    /// Adds an element of a post that can wait for room.
    ///
    /// - Parameter mayWait: Called if the mailbox is full and its policy is to wait. If the result is false, the
    ///   element is dropped.
    mutating func put(_ element: Element, for post: WaitingPost, mayWait: () -> Bool) -> Put {
        guard acceptsMore && isFull && buffering.overflow == .wait && mayWait() else { return put(element) }
        posters.append(Poster(element: element, post: post))
        return .waiting
    }

    private mutating func store(_ element: Element) {
        elements.append(element)
        highWaterMark = max(highWaterMark, elements.count)
        if acceptsOne { acceptsMore = false }
    }

    mutating func take() -> Taken? {
        guard let element = elements.popFirst() else {
            // Release the memory of a burst.
            if highWaterMark > Self.retainedCapacity { elements = [] }
            highWaterMark = 0
            return nil
        }
        guard let poster = posters.popFirst() else { return (element, nil) }
        store(poster.element)
        return (element, poster.post)
    }

    /// Removes and returns the waiting elements of a post, and counts them as dropped.
    mutating func withdraw(_ post: WaitingPost) -> Deque<Poster> {
        let withdrawn = posters.filter { $0.post === post }
        posters.removeAll { $0.post === post }
        droppedCount += withdrawn.count
        return withdrawn
    }

    /// Closes the mailbox, and removes and returns its content.
    mutating func close() -> Remaining {
        isClosed = true
        acceptsMore = false
        defer { (elements, posters) = ([], []) }
        return (elements, posters)
    }
}

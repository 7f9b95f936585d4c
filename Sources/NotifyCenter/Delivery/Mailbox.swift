import DequeModule

/// What waits for its reader, bounded. It decides and does nothing: what it hands back is let go by the caller without a
/// lock, because with its last reference it may call the center. Not thread-safe.
struct Mailbox<Element: Sendable>: Sendable {
    /// A post that waits for room, and what it would put in.
    struct Poster: Sendable {
        let element: Element
        let post: WaitingPost
    }

    enum Put {
        case stored
        /// Stored, and this one had to go for it.
        case replaced(Element)
        /// Not stored, because there is no room or nothing is taken any more.
        case refused
        /// The post waits for room.
        case waiting
    }

    /// An element, and the post that got room by it.
    typealias Taken = (element: Element, admitted: WaitingPost?)
    typealias Leftovers = (elements: Deque<Element>, posters: Deque<Poster>)

    /// The most room that an empty mailbox keeps.
    private static var keptRoom: Int { 64 }

    private let buffering: Buffering
    private let takesOne: Bool
    private var elements: Deque<Element> = []
    /// Nobody waits while there is room.
    private var posters: Deque<Poster> = []
    private var mostElements = 0
    private var takesMore = true

    /// How many found no room.
    private(set) var droppedCount = 0
    private(set) var isClosed = false

    /// - Parameter takesOne: Whether all but the first are refused.
    init(_ buffering: Buffering, takesOne: Bool = false) {
        self.buffering = buffering
        self.takesOne = takesOne
    }

    var isEmpty: Bool { elements.isEmpty }

    private var isFull: Bool { elements.count >= buffering.limit }

    mutating func put(_ element: Element) -> Put {
        guard takesMore else { return .refused }
        guard isFull else {
            store(element)
            return .stored
        }
        droppedCount += 1
        guard buffering.overflow == .dropOldest, let oldest = elements.popFirst() else { return .refused }
        store(element)
        return .replaced(oldest)
    }

    /// - Parameter mayWait: Asked if the post has to wait. It is dropped if it may not.
    mutating func put(_ element: Element, for post: WaitingPost, mayWait: () -> Bool) -> Put {
        guard takesMore && isFull && buffering.overflow == .wait && mayWait() else { return put(element) }
        posters.append(Poster(element: element, post: post))
        return .waiting
    }

    private mutating func store(_ element: Element) {
        elements.append(element)
        mostElements = max(mostElements, elements.count)
        if takesOne { takesMore = false }
    }

    mutating func take() -> Taken? {
        guard let element = elements.popFirst() else {
            // What a burst needed is not kept for ever.
            if mostElements > Self.keptRoom { elements = [] }
            mostElements = 0
            return nil
        }
        guard let poster = posters.popFirst() else { return (element, nil) }
        store(poster.element)
        return (element, poster.post)
    }

    /// A post waits no longer. Hands back what it did not get in.
    mutating func withdraw(_ post: WaitingPost) -> Deque<Poster> {
        let withdrawn = posters.filter { $0.post === post }
        posters.removeAll { $0.post === post }
        droppedCount += withdrawn.count
        return withdrawn
    }

    /// Takes nothing any more, and hands back what is in it.
    mutating func close() -> Leftovers {
        isClosed = true
        takesMore = false
        defer { (elements, posters) = ([], []) }
        return (elements, posters)
    }
}

/// The readers of a sequence, each with its own mailbox.
final class SequenceReaders<Element: Sendable>: ObserverQueue {
    private struct State {
        var mailboxes: [SequenceMailbox<Element>]
        /// The mailbox without a reader, which the next reader takes.
        var unclaimed: SequenceMailbox<Element>?
        /// The number of elements dropped by removed mailboxes.
        var droppedByRemoved = 0
        var isClosed = false
    }

    private let state: Lock<State>
    private let convert: @Sendable (LocalNotification) -> Element?
    private let makeMailbox: @Sendable () -> SequenceMailbox<Element>

    init(_ buffering: Buffering, isOnce: Bool, convert: @escaping @Sendable (LocalNotification) -> Element?) {
        self.convert = convert
        makeMailbox = { SequenceMailbox(buffering, isOnce: isOnce) }
        let mailbox = makeMailbox()
        state = Lock(State(mailboxes: [mailbox], unclaimed: mailbox))
    }

    var droppedCount: Int {
        let (mailboxes, droppedByRemoved) = state.withLock { ($0.mailboxes, $0.droppedByRemoved) }
        return mailboxes.reduce(droppedByRemoved) { $0 + $1.droppedCount }
    }

    func accepts(_ notification: LocalNotification) -> Bool { convert(notification) != nil }

    func registered(_ registration: UInt64, slot: Int32) {}
}

// MARK: - Adding

extension SequenceReaders {
    func put(_ element: Element) {
        for mailbox in state.withLock(\.mailboxes) { mailbox.put(element) }
    }

    func put(_ notification: LocalNotification, for post: WaitingPost) {
        guard let element = convert(notification) else { return }
        for mailbox in state.withLock(\.mailboxes) { mailbox.put(element, for: post) }
    }

    func close() {
        let mailboxes = state.withLock { state in
            state.isClosed = true
            return state.mailboxes
        }
        for mailbox in mailboxes { mailbox.close() }
    }
}

// MARK: - Readers

extension SequenceReaders {
    /// Adds a reader.
    ///
    /// - Returns: The mailbox of the reader.
    func add() -> SequenceMailbox<Element> {
        let (mailbox, isClosed) = state.withLock { state in
            if let unclaimed = state.unclaimed.take() { return (unclaimed, state.isClosed) }
            let mailbox = makeMailbox()
            if !state.isClosed { state.mailboxes.append(mailbox) }
            return (mailbox, state.isClosed)
        }
        if isClosed { mailbox.close() }
        return mailbox
    }

    /// Called when a reader has stopped. If it was the only reader, its unread elements are kept for the next one.
    func readerStopped(_ mailbox: SequenceMailbox<Element>) {
        let isKept = state.withLock { state in
            guard state.mailboxes.count == 1, state.mailboxes[0] === mailbox, !state.isClosed else { return false }
            state.unclaimed = mailbox
            return true
        }
        if isKept { mailbox.readerStopped() } else { remove(mailbox) }
    }

    /// Closes and removes the mailbox of a reader.
    ///
    /// - Returns: Whether no other reader is left.
    @discardableResult
    func remove(_ mailbox: SequenceMailbox<Element>) -> Bool {
        mailbox.close()
        return state.withLock { state in
            if let index = state.mailboxes.firstIndex(where: { $0 === mailbox }) {
                state.mailboxes.remove(at: index)
                state.droppedByRemoved += mailbox.droppedCount
            }
            return state.mailboxes.isEmpty
        }
    }
}

import NotifyWire
import ServiceLifecycle

extension NotificationClient {
    /// Messages of the daemon's log, as an asynchronous sequence. Reading needs no subscription, and leaves none
    /// behind.
    ///
    /// The messages arrive in pages. The next page is requested once the messages before it were read, so at most one
    /// page is held in memory. If the connection is lost, the sequence continues at its position on the next
    /// connection.
    ///
    /// Each iterator begins at the start. If the sequence follows the log, the first iterator resolves a start such as
    /// ``Start/now``, and later iterators begin at the same message. So a second loop misses nothing.
    ///
    /// A ``Gap`` with the reason `deleted` reports messages that retention or a purge deletes before the sequence
    /// reaches them, even if the daemon restarts meanwhile. A sequence that begins at a given sequence number also
    /// reports earlier deletions from that number on. A sequence that begins at a time or an age reports them from the
    /// first stored message on, because the times of deleted messages are unknown.
    ///
    /// In a service that is shut down gracefully, a sequence that follows the log ends. Any other sequence continues,
    /// and throws `cancelled` instead of waiting for a connection, so that it never ends early without an error.
    public struct StoredMessages: AsyncSequence, Sendable {
        let beginning: LogBeginning

        /// Makes an iterator, which begins at the start.
        public func makeAsyncIterator() -> Iterator {
            Iterator(batches: Batches(beginning: beginning).makeAsyncIterator())
        }

        /// Messages and gaps in batches, for consumers that process many messages at once.
        public var batches: some AsyncSequence<Subscription.Batch, NotifyError> & Sendable {
            Batches(beginning: beginning)
        }

        /// Reads messages, and gaps for damaged and deleted messages. The gaps of a page come before its messages.
        public struct Iterator: AsyncIteratorProtocol {
            var batches: Batches.Iterator
            private var gaps: ArraySlice<Gap> = []
            private var messages: Slice<Subscription.Batch>?

            init(batches: Batches.Iterator) {
                self.batches = batches
            }

            /// The next message or gap; `nil` at the end and in a cancelled task.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> Subscription.Event? {
                if Fork.isChild { throw .forked }
                while true {
                    if let gap = gaps.popFirst() { return .gap(gap) }
                    if let message = messages?.popFirst() { return .message(message) }
                    guard let batch = try await batches.next(isolation: actor) else { return nil }
                    gaps = batch.gaps[...]
                    messages = batch[...]
                }
            }

            /// The next message or gap; `nil` at the end and in a cancelled task.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Subscription.Event? {
                try await next(isolation: #isolation)
            }
        }
    }
}

extension NotificationClient.StoredMessages {
    /// The stored messages in batches.
    struct Batches: AsyncSequence, Sendable {
        let beginning: LogBeginning

        func makeAsyncIterator() -> Iterator { Iterator(beginning: beginning) }

        struct Iterator: AsyncIteratorProtocol {
            private let beginning: LogBeginning
            private var cursor: LogCursor?
            private var contents: ArraySlice<NotificationClient.Subscription.Batch> = []

            /// - Parameters:
            ///   - cursor: The position; nil for the beginning of the sequence.
            ///   - page: Messages before the position that the program has not read yet.
            init(beginning: LogBeginning, at cursor: LogCursor? = nil, after page: ReceivedLogPage? = nil) {
                self.beginning = beginning
                self.cursor = cursor
                if let page { contents = page.contents[...] }
            }

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> NotificationClient.Subscription.Batch? {
                if Fork.isChild { throw .forked }
                do {
                    var cursor: LogCursor
                    if let mine = self.cursor { cursor = mine } else { cursor = try await beginning.cursor() }
                    defer { self.cursor = cursor }
                    while contents.isEmpty, !cursor.isAtEnd {
                        let page = try await beginning.client.core.page(
                            cursor.request, timeout: beginning.timeout)
                        cursor.received(page.header)
                        contents = page.contents[...]
                    }
                    return contents.popFirst()
                } catch  where Task.isCancelled || beginning.follows && Task.isShuttingDownGracefully {
                    return nil
                }
            }

            mutating nonisolated(nonsending) func next()
                async throws(NotifyError) -> NotificationClient.Subscription.Batch?
            {
                try await next(isolation: #isolation)
            }
        }
    }
}

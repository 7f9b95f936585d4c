import NotifyWire
import ServiceLifecycle

extension NotificationClient {
    /// What a watch of values reports.
    public enum ValueEvent: Sendable {
        /// A value: at first each present one, then each that is set. Its sequence is its revision.
        case value(Message)
        /// A value was cleared. The message has its name and object, and tells who cleared it, when, and why (see
        /// ``Message/clearedReason``).
        case cleared(Message)
        /// Every value was reported, and changes follow. Reported once, and once after each `reset`. Another watch can
        /// continue at this position, and gets the last change since then of each value.
        case upToDate(ValuePosition)
        /// What was reported is obsolete, because it is unknown what has changed since, for example because a backup was
        /// restored, or because access rules were changed. All values follow, and then `upToDate`.
        case reset
        /// Values are damaged in the daemon's log, so they can't be reported. Some of them might not match.
        case damaged(count: Int)
    }

    /// A position in the changes of values, with which a watch can continue, also in another run of the program.
    public struct ValuePosition: Hashable, Codable, Sendable {
        /// The epoch of the daemon's log and access rules.
        public let epoch: UInt64
        /// The sequence up to which all changes were read.
        public let sequence: UInt64

        /// Makes a position.
        public init(epoch: UInt64, sequence: UInt64) {
            self.epoch = epoch
            self.sequence = sequence
        }
    }

    /// Values and their changes, as an asynchronous sequence.
    ///
    /// Values arrive in pages. The next page is requested once the events before it were read.
    struct ValueWatch: AsyncSequence, Sendable {
        let client: NotificationClient
        let cursor: ValueCursor

        func makeAsyncIterator() -> Iterator { Iterator(client: client, cursor: cursor) }

        struct Iterator: AsyncIteratorProtocol {
            private let client: NotificationClient
            private var cursor: ValueCursor
            private var events: ArraySlice<ValueEvent> = []

            init(client: NotificationClient, cursor: ValueCursor) {
                self.client = client
                self.cursor = cursor
            }

            mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> ValueEvent? {
                if Fork.isChild { throw .forked }
                do {
                    while events.isEmpty {
                        guard let page = try await page() else { continue }
                        events = cursor.received(page)[...]
                    }
                    return events.popFirst()
                } catch  where Task.isCancelled || Task.isShuttingDownGracefully {
                    return nil
                }
            }

            /// Requests the next page.
            ///
            /// - Returns: The page; nil if there is no connection, which a watch that has begun waits for.
            private nonisolated(nonsending) func page() async throws(NotifyError) -> ReceivedPage<ValuePage>? {
                do {
                    return try await client.core.values(cursor.request, timeout: nil)
                } catch {
                    guard error.code == .notConnected, cursor.hasBegun, !Task.isCancelled else { throw error }
                    // The client tries to connect by itself. This only keeps the loop from spinning.
                    try? await Task.sleep(for: .milliseconds(100))
                    return nil
                }
            }

            mutating nonisolated(nonsending) func next() async throws(NotifyError) -> ValueEvent? {
                try await next(isolation: #isolation)
            }
        }
    }

    /// The present values, as an asynchronous sequence of messages. Each iterator reads them anew.
    struct Values: AsyncSequence, Sendable {
        let client: NotificationClient
        let cursor: ValueCursor
        let timeout: Duration?

        func makeAsyncIterator() -> Iterator { Iterator(client: client, cursor: cursor, timeout: timeout) }

        struct Iterator: AsyncIteratorProtocol {
            private let client: NotificationClient
            private let timeout: Duration?
            private var cursor: ValueCursor
            private var messages: ArraySlice<Message> = []

            init(client: NotificationClient, cursor: ValueCursor, timeout: Duration?) {
                self.client = client
                self.cursor = cursor
                self.timeout = timeout
            }

            mutating func next(isolation actor: isolated (any Actor)?) async throws(NotifyError) -> Message? {
                if Fork.isChild { throw .forked }
                while messages.isEmpty, !cursor.isUpToDate {
                    let page = try await client.core.values(cursor.request, timeout: timeout)
                    // Without wildcards, the damaged value is one of those that were asked for.
                    guard page.header.damaged == 0 || !cursor.isExact else { throw .damagedValue }
                    let events = cursor.received(page)
                    if case .reset? = events.first {
                        throw NotifyError(
                            .storageFailed,
                            "the log was replaced, or access rules were changed, while values were read; read them again"
                        )
                    }
                    messages = events.compactMap { if case .value(let message) = $0 { message } else { nil } }[...]
                }
                return messages.popFirst()
            }

            mutating nonisolated(nonsending) func next() async throws(NotifyError) -> Message? {
                try await next(isolation: #isolation)
            }
        }
    }
}

extension NotificationClient.Message {
    /// The reason of a message that clears a value: `cleared` if a client has cleared it. For an announced value (see
    /// ``isEphemeral``) `disconnected` if its connection has ended, `takenOver` if another one has announced the value,
    /// or `released` if its client has withdrawn it. `nil` for other messages.
    public var clearedReason: String? {
        batch.withDelivery(index) { ClearedHeader.reason(in: $0.parts.headers) }
    }
}

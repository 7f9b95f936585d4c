public import FoundationEssentials
import NotifyWire

extension NotificationClient.Administration {
    /// A message of a durable subscription that could not be processed, with the reason.
    public struct DeadLetter: Sendable {
        /// The dead letter as a message, with the name `notifyd.dead.` and the uid of the subscription's owner. Its
        /// payload is the payload of the original message.
        public let message: NotificationClient.Message
        private let description: DeadLetterHeaders

        /// - Returns: nil if the message is not a dead letter.
        init?(_ message: NotificationClient.Message) {
            let headers = message.batch.withDelivery(message.index) { DeadLetterHeaders(reading: $0.parts.headers) }
            guard let headers else { return nil }
            self.message = message
            description = headers
        }

        /// The sequence of the dead letter, by which
        /// ``NotificationClient/Administration/retryDeadLetters(of:sequences:uid:)`` names it.
        public var sequence: UInt64 { message.sequence }
        /// The name of the durable subscription.
        public var durableName: String { message.object ?? "" }
        /// The number of deliveries that failed.
        public var deliveries: Int { Int(description.deliveries) }
        /// The reason why the last delivery failed; `nil` if unknown.
        public var reason: String? { description.reason.isEmpty ? nil : description.reason }

        /// The sequence of the original message.
        public var originalSequence: UInt64 { description.stamp.sequence }
        /// The name under which the original message was posted.
        public var name: String { description.name }
        /// The object of the original message; `nil` for none.
        public var object: String? { description.object.isEmpty ? nil : description.object }
        /// The time at which the daemon accepted the original message.
        public var originalDate: Date {
            Date(timeIntervalSince1970: Double(description.stamp.timeMicroseconds) / 1_000_000)
        }
        /// The uid of the poster of the original message.
        public var uid: UInt32 { description.stamp.uid }
        /// The gid of the poster of the original message.
        public var gid: UInt32 { description.stamp.gid }
        /// The pid of the poster of the original message.
        public var pid: UInt32 { description.stamp.pid }
        /// The headers of the original message.
        public var headers: NotificationClient.Headers {
            NotificationClient.Headers(message.headers.filter { !HeaderList.isReserved($0.key) })
        }
        /// A copy of the payload.
        public var payload: [UInt8] { message.payload }
        /// The payload as text; `nil` if it is not valid UTF-8.
        public var text: String? { message.text }
    }

    /// Dead letters of the daemon's log, as an asynchronous sequence. In a service that is shut down gracefully, the
    /// sequence ends or continues as ``NotificationClient/StoredMessages`` does.
    public struct DeadLetters: AsyncSequence, Sendable {
        /// nil if the service was shut down before the sequence could begin.
        let messages: NotificationClient.StoredMessages?
        let onGap: @Sendable (NotificationClient.Gap) -> Void

        /// Makes an iterator, which begins at the start.
        public func makeAsyncIterator() -> Iterator {
            Iterator(messages: messages?.makeAsyncIterator(), onGap: onGap)
        }

        /// Reads dead letters. Damaged and deleted ones are left out and reported as gaps.
        public struct Iterator: AsyncIteratorProtocol {
            var messages: NotificationClient.StoredMessages.Iterator?
            let onGap: (NotificationClient.Gap) -> Void

            /// The next dead letter; `nil` at the end and in a cancelled task.
            public mutating func next(
                isolation actor: isolated (any Actor)?
            ) async throws(NotifyError) -> DeadLetter? {
                while let event = try await messages?.next(isolation: actor) {
                    switch event {
                    case .gap(let gap): onGap(gap)
                    case .message(let message):
                        if let letter = DeadLetter(message) { return letter }
                    }
                }
                return nil
            }

            /// The next dead letter; `nil` at the end and in a cancelled task.
            public mutating nonisolated(nonsending) func next() async throws(NotifyError) -> DeadLetter? {
                try await next(isolation: #isolation)
            }
        }
    }
}

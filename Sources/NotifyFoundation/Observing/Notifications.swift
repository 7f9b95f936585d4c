public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// The notifications of a name, from the moment this is called.
    ///
    /// ```swift
    /// for await notification in center.notifications(named: .didFollow) {
    ///     print(notification.userInfo ?? [:])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - object: If not nil, only posts with this very instance, which is not kept alive.
    ///   - limit: How many notifications may wait for the reader, at least 1. Of more, the oldest are lost, which
    ///     ``Notifications/lostCount`` tells.
    public func notifications(
        named name: Notification.Name, object: (any AnyObject & Sendable)? = nil, bufferSize limit: Int = 64
    ) -> Notifications {
        let buffer = NotificationBuffer(limit: max(limit, 1))
        let observation = center.observe(
            NotificationName(unchecked: name.rawValue), object: object.map { NotificationObject(ofObserver: $0) },
            converting: { PostedNotification($0) }, using: { buffer.append($0) })
        return Notifications(observation: observation, buffer: buffer)
    }

    /// An asynchronous sequence of notifications. It ends for a task that is cancelled, and otherwise does not end.
    ///
    /// The observation lasts as long as the sequence or one of its iterators. Several iterators share what comes: each
    /// notification goes to one of them.
    ///
    /// As with Foundation, `Notification` is not `Sendable`, and this sequence hands it to another task than the one that
    /// posted it. What it carries must be fit for that: values, or instances that may be used on any thread.
    public final class Notifications: AsyncSequence, Sendable {
        /// What the sequence is of.
        public typealias Element = Notification
        /// The sequence does not fail.
        public typealias Failure = Never

        private let observation: Observation
        private let buffer: NotificationBuffer

        init(observation: Observation, buffer: NotificationBuffer) {
            self.observation = observation
            self.buffer = buffer
        }

        deinit {
            observation.cancel()
        }

        /// How many notifications were lost until now, because as many as may wait did so.
        public var lostCount: Int { buffer.lostCount }

        /// An iterator, which keeps the observation going.
        public func makeAsyncIterator() -> Iterator { Iterator(sequence: self) }

        /// Hands out one notification after the other.
        public struct Iterator: AsyncIteratorProtocol {
            private let sequence: Notifications

            fileprivate init(sequence: Notifications) {
                self.sequence = sequence
            }

            /// The next notification, or nil if the task is cancelled.
            public mutating func next() async -> Notification? {
                await next(isolation: nil)
            }

            /// The next notification, or nil if the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await sequence.buffer.next(isolation: actor)?.notification
            }
        }
    }
}

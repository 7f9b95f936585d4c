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
    ///     ``Notifications/droppedCount`` tells.
    public func notifications(
        named name: Notification.Name, object: (any AnyObject & Sendable)? = nil, bufferSize limit: Int = 64
    ) -> Notifications {
        Notifications(
            center.notifications(
                for: NotificationName(name),
                object: object.map { NotificationObject(ofObserver: $0) },
                buffering: .dropOldest(limit: max(limit, 1))))
    }

    /// An asynchronous sequence of notifications. It ends when a task that reads it is cancelled, and when the center beneath
    /// ends the observation, because all are removed or the object is gone. What still waits then is not read any more.
    ///
    /// The observation lasts as long as the sequence or one of its iterators, which keep the center. There is one reader:
    /// several would each get a part, and all would end with the first that is cancelled.
    ///
    /// As with Foundation, `Notification` is not `Sendable`, and this sequence hands it to another task than the one that
    /// posted it. What it carries must be fit for that: values, or instances that may be used on any thread.
    public final class Notifications: AsyncSequence, Sendable {
        /// What the sequence is of.
        public typealias Element = Notification
        /// The sequence does not fail.
        public typealias Failure = Never

        private let sequence: NotificationSequence<LocalNotification>

        init(_ sequence: NotificationSequence<LocalNotification>) {
            self.sequence = sequence
        }

        /// How many notifications were lost until now, because as many as may wait did so.
        public var droppedCount: Int { sequence.droppedCount }

        /// An iterator, which keeps the observation going.
        public func makeAsyncIterator() -> Iterator { Iterator(iterator: sequence.makeAsyncIterator()) }

        /// Hands out one notification after the other.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var iterator: NotificationSequence<LocalNotification>.Iterator

            /// The next notification, or nil if the sequence has ended.
            nonisolated(nonsending) public mutating func next() async -> Notification? {
                await next(isolation: #isolation)
            }

            /// The next notification, or nil if the sequence has ended.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await iterator.next(isolation: actor).map { PostedNotification($0).notification }
            }
        }
    }
}

public import Foundation
import NotifyCenter

extension CompatibleNotificationCenter {
    /// The notifications of a name that are posted after this call.
    ///
    /// ```swift
    /// for await notification in center.notifications(named: .didFollow) {
    ///     print(notification.userInfo ?? [:])
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - name: The name.
    ///   - object: The object of the posts to receive; nil for posts with any object or none. The object is not kept
    ///     alive.
    ///   - limit: The number of notifications that may wait for each reader; at least 1. A full buffer drops the oldest
    ///     notification; ``Notifications/droppedCount`` counts the drops.
    public func notifications(
        named name: Notification.Name, object: (any AnyObject & Sendable)? = nil, bufferSize limit: Int = 64
    ) -> Notifications {
        Notifications(
            center.notifications(
                for: NotificationName(name),
                object: object.map { NotificationObject(ofObserver: $0) },
                buffering: .dropOldest(limit: max(limit, 1))))
    }

    /// An asynchronous sequence of notifications. It ends when the task of its only reader is cancelled, or when the
    /// underlying center ends the observation: because the object was released, or because all observations were
    /// removed. The end discards unread notifications.
    ///
    /// The sequence and its iterators keep the observation and the center alive. Each iterator is a reader with a
    /// buffer of its own, as with `NotificationSequence`.
    ///
    /// `Notification` is not `Sendable`, but as in Foundation, this sequence passes notifications from the posting task
    /// to other tasks. So the contents of a notification must be values, or instances that may be used on any thread.
    public final class Notifications: AsyncSequence, Sendable {
        /// A notification.
        public typealias Element = Notification
        /// The sequence does not fail.
        public typealias Failure = Never

        private let sequence: NotificationSequence<LocalNotification>

        init(_ sequence: NotificationSequence<LocalNotification>) {
            self.sequence = sequence
        }

        /// The number of notifications dropped by all readers because their buffers were full.
        public var droppedCount: Int { sequence.droppedCount }

        /// Returns a new reader. The reader keeps the observation alive.
        public func makeAsyncIterator() -> Iterator { Iterator(iterator: sequence.makeAsyncIterator()) }

        /// A reader of the sequence.
        public struct Iterator: AsyncIteratorProtocol {
            fileprivate var iterator: NotificationSequence<LocalNotification>.Iterator

            /// Returns the next notification, or nil if the sequence has ended.
            nonisolated(nonsending) public mutating func next() async -> Notification? {
                await next(isolation: #isolation)
            }

            /// Returns the next notification, or nil if the sequence has ended.
            public mutating func next(isolation actor: isolated (any Actor)?) async -> Notification? {
                await iterator.next(isolation: actor).map { PostedNotification($0).notification }
            }
        }
    }
}

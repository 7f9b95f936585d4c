extension CompatibleNotificationCenter {
    /// A value that identifies a type of message when an observer is added, such as `.didStart`.
    ///
    /// ```swift
    /// extension CompatibleNotificationCenter.MessageIdentifier
    /// where Self == CompatibleNotificationCenter.BaseMessageIdentifier<EventDidStart> {
    ///     static var didStart: Self { .init() }
    /// }
    ///
    /// let token = center.addObserver(of: event, for: .didStart) { message in print(message) }
    /// ```
    public protocol MessageIdentifier {
        /// The type of message.
        associatedtype MessageType
    }

    /// The identifier of a type of message. See ``MessageIdentifier``.
    public struct BaseMessageIdentifier<MessageType>: MessageIdentifier, Sendable {
        /// Creates the identifier of messages that are delivered on the main actor.
        public init() where MessageType: MainActorMessage {}

        /// Creates the identifier of messages that are delivered asynchronously.
        public init() where MessageType: AsyncMessage {}
    }
}

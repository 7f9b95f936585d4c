/// What an observer of a ``LocalCenter`` gets.
public struct LocalNotification: Sendable {
    /// What it is about.
    public let name: NotificationName

    /// What it concerns, if the poster said so. Observers may filter by it.
    public let object: String?

    /// What the poster gave along.
    public let payload: (any Sendable)?

    /// Makes a notification as ``LocalCenter/post(_:)`` takes it.
    public init(name: NotificationName, object: String? = nil, payload: (any Sendable)? = nil) {
        self.name = name
        self.object = object
        self.payload = payload
    }
}

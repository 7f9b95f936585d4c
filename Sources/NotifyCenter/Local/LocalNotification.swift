/// What an observer of names gets.
public struct LocalNotification: Sendable {
    /// What it is about.
    public let name: NotificationName

    /// What it concerns, if the poster said so. Observers may ask for one object alone.
    public let object: NotificationObject?

    // Not optional: what is and what is not optional is told apart at run time, for an existential, with each copy.
    private let contents: any Sendable

    /// What the poster gave along. For a ``NotificationMessage`` this is the message.
    public var payload: (any Sendable)? { type(of: contents) == Nothing.self ? nil : contents }

    private struct Nothing: Sendable {}

    /// Makes a notification as ``LocalCenter/post(_:)-(LocalNotification)`` takes it.
    public init(name: NotificationName, object: NotificationObject? = nil, payload: (any Sendable)? = nil) {
        self.name = name
        self.object = object
        self.contents = payload ?? Nothing()
    }
}

/// A notification with a type of its own: what is posted is a value, and observers of the type get it as it is.
///
/// ```swift
/// struct OrderPaid: NotificationMessage {
///     static let notificationName = NotificationName(literal: "orders.paid")
///     let order: Int
/// }
///
/// let token = center.observe(OrderPaid.self) { print($0.order) }
/// center.post(OrderPaid(order: 17))
/// ```
///
/// Who observes the name gets it too, as the payload of a ``LocalNotification``; and who observes the type also gets what
/// was posted by name with a payload of this type.
public protocol NotificationMessage: Sendable {
    /// The name, which stays the same when the type is renamed.
    static var notificationName: NotificationName { get }

    /// What the message concerns: nothing, unless the type says so.
    var notificationObject: NotificationObject? { get }
}

extension NotificationMessage {
    /// Nothing.
    public var notificationObject: NotificationObject? { nil }
}

/// A typed notification: posts carry a value of the type, which observers of the type receive.
///
/// ```swift
/// struct OrderPaid: NotificationMessage {
///     static let notificationName: NotificationName = "orders.paid"
///     let order: Int
/// }
///
/// let token = center.observe(OrderPaid.self) { print($0.order) }
/// center.post(OrderPaid(order: 17))
/// ```
///
/// Observers of the name also receive the message, as the payload of a ``LocalNotification``. Observers of the type
/// also receive notifications that are posted under the name with a payload of the type.
///
/// By default the name consists of the module and the type, such as `Shop.OrderPaid`, so **renaming or moving the type
/// renames its messages**. Observers of the old name then receive nothing, nor do those of a pattern that matches only
/// the old name, and the compiler reports no error. Declare a name if the messages are observed by name. If the
/// messages are posted often, declare the name as a `static let`, because the default is looked up for each post.
public protocol NotificationMessage: Sendable {
    /// The name. A declared name does not change when the type is renamed.
    static var notificationName: NotificationName { get }

    /// The object that the message concerns; nil by default.
    var notificationObject: NotificationObject? { get }
}

extension NotificationMessage {
    /// The name of the module and the type, such as `Shop.OrderPaid`. Changes when the type is renamed or moved.
    public static var notificationName: NotificationName { TypeNames.shared.name(of: Self.self) }

    /// No object.
    public var notificationObject: NotificationObject? { nil }
}

/// The default names of message types, each created once.
private final class TypeNames: Sendable {
    static let shared = TypeNames()

    private let names = Lock<[ObjectIdentifier: NotificationName]>([:])

    func name(of type: Any.Type) -> NotificationName {
        names.withLock { names in
            if let name = names[ObjectIdentifier(type)] { return name }
            let name = Self.makeName(of: type)
            names[ObjectIdentifier(type)] = name
            return name
        }
    }

    /// Replaces spaces, and the dots within generic arguments and private types: the parts of a name between dots can't
    /// contain them. A name that exceeds the length limit still works within the process.
    private static func makeName(of type: Any.Type) -> NotificationName {
        var depth = 0
        let characters = String(reflecting: type).map { character -> Character in
            if character == "<" || character == "(" { depth += 1 }
            if character == ">" || character == ")" { depth -= 1 }
            return character.isWhitespace || depth > 0 && character == "." ? "_" : character
        }
        return NotificationName(unchecked: String(characters))
    }
}

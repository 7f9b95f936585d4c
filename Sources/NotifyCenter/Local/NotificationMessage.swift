/// A notification with a type of its own: posts carry a value of the type, and observers of the type get it as it is.
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
/// Observers of the name get it too, as the payload of a ``LocalNotification``; and observers of the type also get what is
/// posted by name with a payload of this type.
///
/// The name may be left out. It is then made of the module and the type, such as `Shop.OrderPaid`, so that **renaming or moving
/// the type renames its messages**: observers of the old name or of a pattern that matched it get nothing any more, and no
/// compiler says so. Declare the name where it is observed by name, and as a `static let` where messages are posted often: the
/// default is looked up for each post.
public protocol NotificationMessage: Sendable {
    /// The name. Declared by the type, it stays when the type is renamed.
    static var notificationName: NotificationName { get }

    /// What the message concerns: nothing by default.
    var notificationObject: NotificationObject? { get }
}

extension NotificationMessage {
    /// The module and the type, such as `Shop.OrderPaid`. Changes when the type is renamed or moved.
    public static var notificationName: NotificationName { TypeNames.shared.name(of: Self.self) }

    /// Nothing.
    public var notificationObject: NotificationObject? { nil }
}

/// The names of message types that declare none, each made once.
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

    /// Generic arguments and private types have dots, spaces and brackets in them, which are no part of a token. A name that
    /// is too long still works within the process.
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

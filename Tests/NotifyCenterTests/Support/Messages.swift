@testable import NotifyCenter

/// A message with a declared name, and an object if it has an order.
struct OrderPaid: NotificationMessage, Equatable {
    static let notificationName = NotificationName(literal: "orders.paid")

    let amount: Int
    var order: String?

    var notificationObject: NotificationObject? { order.map { NotificationObject($0) } }
}

/// Another message type with the same name.
struct OrderPaidAbroad: NotificationMessage {
    static let notificationName = OrderPaid.notificationName

    let currency: String
}

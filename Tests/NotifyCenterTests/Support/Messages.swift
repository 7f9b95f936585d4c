@testable import NotifyCenter

/// A message with a name of its own, about an order if it says which.
struct OrderPaid: NotificationMessage, Equatable {
    static let notificationName = NotificationName(literal: "orders.paid")

    let amount: Int
    var order: String?

    var notificationObject: NotificationObject? { order.map { NotificationObject($0) } }
}

/// Another type of message with the same name.
struct OrderPaidAbroad: NotificationMessage {
    static let notificationName = OrderPaid.notificationName

    let currency: String
}

import NotifyClient

func bill() async throws {
    try await withNotificationClient { client in
        try await client.withSubscription(to: "orders.*", as: .durable("billing")) { orders in
            let receipt = try await client.post("orders.created", "one book")
            print("stored for \(receipt.stored) subscriptions")
            for try await order in orders.messages(onGap: { print($0) }) {
                print(order.name, order.text ?? "")
                order.acknowledge()
                break
            }
        }
    }
}

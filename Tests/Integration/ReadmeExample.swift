import NotifyClient

func bill() async throws {
    try await withNotificationClient { client in
        try await client.withSubscription(to: "orders.*", as: .durable("billing")) { orders in
            try await client.post("orders.created", "one book")
            for try await order in orders.messages() {
                print(order.name, order.text ?? "")
                order.acknowledge()
                break
            }
        }
    }
}

import Foundation
import NotifyCenter
import NotifyClient
import Testing

extension IntegrationTests {
    /// A consumer leaves its loop repeatedly. To a durable subscription, the daemon sends no more messages than the
    /// window allows.
    @Suite(.timeLimit(.minutes(25))) struct ContinuedReadingTests {
        /// The way in which the consumer leaves its loop.
        enum Leaving: CaseIterable, Sendable {
            case breaking, prefix, throwing, cancelling
        }

        private struct Left: Error {}

        private static let count = 20
        private static let window = 4
        /// The number of messages of one loop: fewer than the window, and no divisor of the total.
        private static let perLoop = 3

        @Test(arguments: Leaving.allCases, [true, false])
        func `the next loop continues after each way to leave a loop`(leaving: Leaving, isDurable: Bool) async throws {
            let daemon = try await Daemon.start()
            let configuration = daemon.patientConfiguration
            try await withNotificationClient(configuration: configuration) { client in
                let kind: NotificationClient.SubscriptionKind =
                    isDurable ? .durable("reader", window: Self.window) : .volatile()
                try await client.withSubscription(to: "a", as: kind) { subscription in
                    for number in 1...Self.count { try await client.post("a", "\(number)") }
                    var read: [NotificationClient.Message] = []
                    while read.count < Self.count {
                        let loop = try await Self.loop(
                            over: subscription, leaving: leaving, after: min(Self.perLoop, Self.count - read.count))
                        try #require(!loop.isEmpty, "the subscription ended after \(read.count) messages")
                        read += loop
                    }
                    #expect(read.map(\.text) == (1...Self.count).map(String.init))
                    #expect(subscription.droppedCount == 0)
                }
                guard isDurable else { return }
                let details = try await client.administration.durableSubscription("reader")
                #expect(details.subscription.pending?.count.messages == 0)
            }
        }

        /// Reads messages in one loop, and leaves it. The last message is acknowledged after the loop.
        ///
        /// A cancelled task still reads the messages that have arrived, so its loop may read more than `count`
        /// messages.
        private static func loop(
            over subscription: NotificationClient.Subscription, leaving: Leaving, after count: Int
        ) async throws -> [NotificationClient.Message] {
            let messages: [NotificationClient.Message]
            switch leaving {
            case .breaking:
                var read: [NotificationClient.Message] = []
                for try await event in subscription {
                    take(event, &read)
                    if read.count == count { break }
                }
                messages = read
            case .prefix:
                var read: [NotificationClient.Message] = []
                for try await event in subscription.prefix(count) { take(event, &read) }
                messages = read
            case .throwing:
                var read: [NotificationClient.Message] = []
                await #expect(throws: Left.self) {
                    for try await event in subscription {
                        take(event, &read)
                        if read.count == count { throw Left() }
                    }
                }
                messages = read
            case .cancelling:
                let reader = Task {
                    var read: [NotificationClient.Message] = []
                    for try await event in subscription {
                        take(event, &read)
                        if read.count == count { withUnsafeCurrentTask { $0?.cancel() } }
                    }
                    #expect(Task.isCancelled)
                    return read
                }
                messages = try await reader.value
            }
            messages.last?.acknowledge()
            return messages
        }

        /// Adds the message of an event, and acknowledges the previous message.
        private static func take(
            _ event: NotificationClient.Subscription.Event, _ read: inout [NotificationClient.Message]
        ) {
            guard case .message(let message) = event else {
                Issue.record("\(event) came instead of a message")
                return
            }
            read.last?.acknowledge()
            read.append(message)
        }
    }
}

import WireTestSupport
import Foundation
import NotifyCenter
import NotifyClient
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// The client library with daemons that are stopped and restarted.
    @Suite struct ClientReconnectTests {
        private func configuration(_ daemon: Daemon, wait: Duration = .seconds(300)) -> NotificationClient.Configuration
        {
            var configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            configuration.connectionWait = wait
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            return configuration
        }

        @Test func `a post in flight when the daemon dies has an unknown outcome`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                try await client.post("before", "1", durability: .stored)
                // Suspends the daemon, so that the post reaches the daemon's socket but is not answered.
                daemon.process.send(SIGSTOP)
                try daemon.process.waitUntilStopped()
                let post = Task { try await client.post("under.way", "2", durability: .stored) }
                try daemon.waitForUnreadBytes()
                try await daemon.kill()
                let error = await #expect(throws: NotifyError.self) { try await post.value }
                #expect(error?.code == .outcomeUnknown)

                try await daemon.start()
                let receipt = try await client.post("after", "3", durability: .stored)
                #expect(receipt.durability == .stored)
                #expect(try await client.administration.statistics()["log_messages"] == 2)
            }
        }

        @Test func `a post waits a limited time for a daemon`() async throws {
            let daemon = try await Daemon.start()
            try await daemon.kill()
            try await withNotificationClient(configuration: configuration(daemon, wait: .milliseconds(300))) { client in
                let error = await #expect(throws: NotifyError.self) { try await client.post("a", "1") }
                #expect(error?.code == .notConnected)
            }
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                async let post = client.post("a", "2", durability: .stored)
                try await daemon.start()
                let receipt = try await post
                #expect(receipt.durability == .stored)
            }
        }

        @Test func `exactly the posts that a draining daemon did not process are sent again`() async throws {
            let daemon = try await Daemon.start()
            let count = 20_000
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                let pipeline = client.postPipeline(capacity: 4000)
                let message = try NotificationClient.OutgoingMessage(
                    name: NotificationName("load"), durability: .stored)
                async let results = pipeline.results.reduce(into: [NotificationClient.PostPipeline.Outcome]()) {
                    $0.append($1)
                }
                for number in 0..<count {
                    try await pipeline.post(message.with(payload: Array("\(number)".utf8)))
                    // Restarts the daemon three times while posts are in progress.
                    if number % 5000 == 4999, number < count - 1 {
                        #expect(try await daemon.stop() == .status(0))
                        try await daemon.start()
                    }
                }
                pipeline.finish()
                let sequences = try await results.map { try $0.get().sequence }
                #expect(sequences.count == count)
                #expect(zip(sequences, sequences.dropFirst()).allSatisfy { $0 < $1 })
                // No post was lost or stored twice.
                #expect(try await client.administration.statistics()["log_messages"] == UInt64(count))
            }
        }

        @Test func `subscriptions resume after the daemon is killed`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                let durable = try await client.subscribe(to: ["news.>"], as: .durable("mine"))
                let volatile = try await client.subscribe(to: ["news.>"])
                var durableEvents = durable.makeAsyncIterator()
                var volatileEvents = volatile.makeAsyncIterator()
                try await client.post("news.a", "1")
                try #expect(await durableEvents.next()?.text == "1")
                try #expect(await volatileEvents.next()?.text == "1")

                try await daemon.kill()
                // While the client is disconnected, another daemon with the same database stores a post.
                let socket = daemon.folder.file("other")
                let other = try NotifydRun(
                    ["--socket", socket, "--database", daemon.database],
                    managerPath: daemon.folder.file("other-manager"))
                try await other.ready()
                try RawClient(path: socket).post("news.a", "2", durability: .stored)
                try await other.stop()
                try await daemon.start()
                // The first message was not acknowledged, so the daemon delivers it again. The client discards the
                // duplicate.
                try #expect(await durableEvents.next()?.text == "2")
                guard case .gap(let gap) = try await volatileEvents.next() else {
                    Issue.record("the volatile subscription got no gap")
                    return
                }
                #expect(gap.reason == .reconnected)
                try await client.post("news.a", "3")
                try #expect(await durableEvents.next()?.text == "3")
                try #expect(await volatileEvents.next()?.text == "3")
                try await durable.leave()
                try await volatile.leave()
            }
        }

        @Test func `ending a durable subscription keeps unacknowledged messages`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                try await client.withSubscription(to: "a", as: .durable("mine")) { _ in }
                for number in 1...5 { try await client.post("a", "\(number)") }
                // Each subscription ends after one message. Every second subscription acknowledges its message.
                var seen: [String] = []
                for round in 0..<4 {
                    try await client.withSubscription(to: "a", as: .durable("mine"), limit: 1) { subscription in
                        for try await case .message(let message) in subscription {
                            seen.append("\(message.text ?? "")\(message.isRedelivered ? " again" : "")")
                            if round % 2 == 1 { message.acknowledge() }
                        }
                    }
                }
                #expect(seen == ["1", "1 again", "2", "2 again"])
            }
        }

        @Test func `the error names the holder of a durable subscription`() async throws {
            let daemon = try await Daemon.start()
            let holder = try RawClient(daemon)
            try holder.subscribe("a", durable: "mine")
            try await withNotificationClient(configuration: configuration(daemon)) { client in
                let error = await #expect(throws: NotifyError.self) {
                    try await client.withSubscription(to: "a", as: .durable("mine")) { _ in }
                }
                #expect(error?.code == .subscriptionHeld)
                #expect(error?.detail == UInt64(getpid()))
                #expect(error?.isRefusal == true)
            }
        }

        @Test func `a client with the same instance takes over its own attachment`() async throws {
            let daemon = try await Daemon.start()
            let instance = InstanceID.random()
            let first = try RawClient(daemon, instance: instance)
            try first.subscribe("a", as: 4, durable: "mine")
            let receipt = try first.post("a", "1")
            #expect(try first.message().sequence == receipt.sequence)
            let second = try RawClient(daemon, instance: instance)
            try second.subscribe("a", as: 5, durable: "mine")
            let error = try first.error()
            #expect(ErrorCode(rawValue: error.code) == .takenOver && error.subscription == 4)
            let message = try second.message()
            #expect(message.sequence == receipt.sequence && message.isRedelivery)
        }
    }
}

extension NotificationClient.Subscription.Event {
    /// The text of a message; nil for a gap.
    fileprivate var text: String? {
        if case .message(let message) = self { message.text } else { nil }
    }
}

extension Daemon {
    /// Waits until a connection from the tests has bytes that this daemon has not read. The daemon must be suspended.
    fileprivate func waitForUnreadBytes(within limit: Duration = .seconds(300)) throws {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            for descriptor in Int32(3)..<1024 where isPeer(of: descriptor) {
                var unread: Int32 = 0
                if ioctl(descriptor, UInt(TIOCOUTQ), &unread) == 0, unread > 0 { return }
            }
            sched_yield()
        }
        throw TimedOut(description: "nothing was sent to the daemon")
    }

    private func isPeer(of descriptor: Int32) -> Bool {
        var address = sockaddr_un()
        var length = socklen_t(MemoryLayout<sockaddr_un>.size)
        let code = withUnsafeMutablePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
        }
        guard code == 0, address.sun_family == sa_family_t(AF_UNIX) else { return false }
        return withUnsafeBytes(of: address.sun_path) { $0.prefix { $0 != 0 }.elementsEqual(socket.utf8) }
    }
}

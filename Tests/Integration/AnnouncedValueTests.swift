import Glibc
import NotifyClient
import NotifyWire
import TestSupport
import Testing

extension IntegrationTests {
    /// Announced values, from the client library to a watch, over ends of clients and of the daemon.
    @Suite struct AnnouncedValueTests {
        private func configuration(_ daemon: Daemon) -> NotificationClient.Configuration {
            var configuration = NotificationClient.Configuration(socketPath: daemon.socket)
            configuration.backoff = .milliseconds(5) ... .milliseconds(50)
            return configuration
        }

        private func text(_ event: NotificationClient.ValueEvent?) -> String {
            switch event {
            case .value(let message): "\(message.name)=\(message.text ?? "")\(message.isEphemeral ? " ephemeral" : "")"
            case .cleared(let message): "\(message.name) \(message.clearedReason ?? "")"
            case .upToDate: "up to date"
            case .reset: "reset"
            case .damaged: "damaged"
            case nil: "the end"
            }
        }

        @Test func `a watch shows values, updates and ends, and subscribers get the will`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { watcher in
                try await watcher.setValue("s", for: "a.stored")
                var events = try watcher.watch(["a.>"]).makeAsyncIterator()
                #expect(text(try await events.next()) == "a.stored=s")
                #expect(text(try await events.next()) == "up to date")
                try await watcher.withSubscription(to: "a.*") { messages in
                    var received = messages.messages().makeAsyncIterator()
                    try await withNotificationClient(configuration: configuration(daemon)) { owner in
                        let presence = try await owner.announce("a.b", "up", will: .init("never"))
                        #expect(text(try await events.next()) == "a.b=up ephemeral")
                        try await presence.update("busy")
                        #expect(text(try await events.next()) == "a.b=busy ephemeral")
                        #expect(try await watcher.value(of: "a.b")?.text == "busy")
                        var values: [String] = []
                        for try await value in try watcher.values(matching: ["a.*"]) { values.append(value.name) }
                        #expect(values == ["a.stored", "a.b"])
                        let error = await #expect(throws: NotifyError.self) {
                            try await watcher.setValue("x", for: "a.b")
                        }
                        #expect(error?.code == .valueInUse && error?.detail == UInt64(getpid()))
                    }
                    // A client that stops withdraws its values, without their wills.
                    #expect(text(try await events.next()) == "a.b released")
                    var texts: [String] = []
                    for _ in 0..<3 { texts.append(try await received.next()?.text ?? "the end") }
                    #expect(texts == ["up", "busy", ""])
                }
                #expect(try await watcher.value(of: "a.b") == nil)
            }
        }

        @Test func `after a restart of the daemon, clients announce again, and a watch sees it`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { owner in
                try await withNotificationClient(configuration: configuration(daemon)) { watcher in
                    let presence = try await owner.announce("a.b", "up", will: .init("died"))
                    try await watcher.setValue("s", for: "a.stored")
                    var events = try watcher.watch(["a.>"]).makeAsyncIterator()
                    for expected in ["a.stored=s", "a.b=up ephemeral", "up to date"] {
                        #expect(text(try await events.next()) == expected)
                    }
                    try await daemon.kill()
                    try await daemon.start()
                    #expect(text(try await events.next()) == "a.b disconnected")
                    #expect(text(try await events.next()) == "a.b=up ephemeral")
                    #expect(try await daemon.stop() == .status(0))
                    try await daemon.start()
                    #expect(text(try await events.next()) == "a.b disconnected")
                    #expect(text(try await events.next()) == "a.b=up ephemeral")
                    try await presence.withdraw()
                    #expect(text(try await events.next()) == "a.b released")
                }
            }
        }

        @Test func `in its grace period a value stays, and its client can announce it again`() async throws {
            let daemon = try await Daemon.start()
            let instance = InstanceID.random()
            try await withNotificationClient(configuration: configuration(daemon)) { watcher in
                var events = try watcher.watch(["a.>"]).makeAsyncIterator()
                #expect(text(try await events.next()) == "up to date")
                try RawClient(daemon, instance: instance).announce("1", for: "a.b", grace: .seconds(600))
                #expect(text(try await events.next()) == "a.b=1 ephemeral")
                // The daemon may notice the end of the connection later.
                while true {
                    let error = await #expect(throws: NotifyError.self) { try await watcher.setValue("x", for: "a.b") }
                    #expect(error?.code == .valueInUse)
                    if error?.message.contains("grace period") ?? true { break }
                }
                try RawClient(daemon, instance: instance).announce("2", for: "a.b", grace: .milliseconds(1))
                #expect(text(try await events.next()) == "a.b=2 ephemeral")
                #expect(text(try await events.next()) == "a.b disconnected")
            }
        }

        @Test func `a value that is taken over fails for its first owner`() async throws {
            let daemon = try await Daemon.start()
            try await withNotificationClient(configuration: configuration(daemon)) { first in
                try await withNotificationClient(configuration: configuration(daemon)) { second in
                    let presence = try await first.announce("a.b", "1")
                    await #expect(throws: NotifyError.self) { try await second.announce("a.b", "2") }
                    _ = try await second.announce("a.b", "2", takesOver: true)
                    #expect(await presence.failure()?.code == .takenOver)
                    #expect(try await first.value(of: "a.b")?.text == "2")
                }
            }
        }
    }
}

import Glibc
import NotifyWire
import Testing

@testable import NotifyClient

@Suite struct ForkTests {
    /// `fork`, which Swift does not import.
    private typealias Function = @convention(c) () -> pid_t

    /// Sends requests of each kind, ends the client, and returns whether all requests have an outcome.
    private static func areAnswered(_ client: NotificationClient) throws -> Bool {
        let (post, ping) = (ReplySlot<NotificationClient.Receipt>(), ReplySlot<Void>())
        let (opening, leaving) = (ReplySlot<Subscribed?>(), ReplySlot<Void>())
        let message = try NotificationClient.OutgoingMessage(name: "a.b")
        let spec = try SubscriptionSpec(patterns: ["a"], object: nil, kind: .volatile(), limit: nil)
        client.core.submit(message, .task(post))
        client.core.call(.ping(ping))
        _ = client.core.subscribe(spec, openWaiter: opening)
        client.core.leave(1, leaving)
        client.core.cancelPost(post)
        client.core.cancelCall(ping)
        client.core.endWaits()
        client.core.endBackup()
        client.core.shutDownGracefully()
        client.core.stop()
        let slots: [any RequestSlot] = [post, ping, opening, leaving]
        return slots.allSatisfy(\.isAnswered)
    }

    // A fork copies the locks of the runtime, which other threads of the process may hold. The process is therefore one
    // in which no other test runs, and has used everything that the child uses.
    @Test func `requests in the child of a fork fail instead of waiting`() async {
        await #expect(processExitsWith: .success) {
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
            _ = try Self.areAnswered(NotificationClient(configuration: .manual))
            let client = NotificationClient(configuration: .manual)
            // With the client's lock held, as another thread may hold it.
            let child = client.core.process { _, _ in
                let child = fork()
                if child == 0 {
                    // Ends a child that waits.
                    alarm(60)
                    _exit((try? Self.areAnswered(client)) == true ? 0 : 1)
                }
                return child
            }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child)
            #expect(status == 0)
            #expect(!Fork.isChild)
        }
    }
}

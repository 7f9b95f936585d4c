import Glibc
@_spi(Package) import NotifyCenter
import NotifyWire
import Testing

@testable import NotifyClient

@Suite struct ForkTests {
    /// `fork`, which Swift does not import.
    private typealias Function = @convention(c) () -> pid_t

    /// Sends requests of each kind, ends the client, and returns whether all requests have an outcome.
    private static func areAnswered(_ client: NotificationClient) throws -> Bool {
        let (post, call) = (ReplySlot<NotificationClient.Receipt>(), FrameCall(Ping()))
        let (opening, leaving) = (ReplySlot<Subscribed?>(), ReplySlot<Void>())
        let message = try NotificationClient.OutgoingMessage(name: "a.b")
        let spec = try SubscriptionSpec(patterns: ["a"], object: nil, kind: .volatile(), limit: nil)
        client.core.submit(message, .task(post))
        client.core.call(call)
        _ = client.core.subscribe(spec, openWaiter: opening)
        client.core.leave(1, leaving)
        client.core.cancelPost(post)
        client.core.cancelCall(call.slot)
        client.core.endWaits()
        client.core.endBackup()
        client.core.shutDownGracefully()
        client.core.stop()
        let slots: [any RequestSlot] = [post, call.slot, opening, leaving]
        return slots.allSatisfy(\.isAnswered)
    }

    /// Uses a pipeline and a subscription with messages that have arrived. Returns the code of each error.
    ///
    /// Every method must end without waiting, because the child has no threads that would resume a task.
    private static func codes(
        _ pipeline: NotificationClient.PostPipeline, _ subscription: NotificationClient.Subscription
    ) throws -> [NotifyError.Code?] {
        let message = try NotificationClient.OutgoingMessage(name: "a.b")
        return [
            code { try await pipeline.post(message) },
            code { for try await _ in pipeline.results { break } },
            code { for try await _ in pipeline.batches { break } },
            code { for try await _ in subscription { break } },
            code { for try await _ in subscription.batches { break } },
        ]
    }

    /// Runs a client, reads the log with new iterators and with the given ones, and works on messages. Returns the code
    /// of each error. Every method must end without waiting.
    private static func codes(
        _ client: NotificationClient, _ stored: NotificationClient.StoredMessages.Iterator,
        _ batches: NotificationClient.StoredMessages.Batches.Iterator
    ) -> [NotifyError.Code?] {
        nonisolated(unsafe) var (stored, batches) = (stored, batches)
        return [
            code { try await client.run() },
            code { for try await _ in try client.log("a") { break } },
            code { for try await _ in try client.log("a", follows: true).batches { break } },
            code { _ = try await stored.next() },
            code { _ = try await batches.next() },
            code { try await client.work(on: "a", as: .durable("d")) { _ in } },
        ]
    }

    /// The code of the error that `body` throws without waiting.
    private static func code(_ body: @escaping @Sendable () async throws -> Void) -> NotifyError.Code? {
        let found = Lock<NotifyError.Code?>(nil)
        Task.immediate {
            do { try await body() } catch { found.withLock { $0 = (error as? NotifyError)?.code } }
        }
        return found.withLock { $0 }
    }

    // A fork copies the locks of the runtime, which other threads of the process may hold. So the test runs in a
    // process without other tests, which has already used everything that the child uses.
    @Test func `requests in the child of a fork fail instead of waiting`() async {
        await #expect(processExitsWith: .success) {
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
            _ = try Self.areAnswered(NotificationClient(configuration: .manual))
            let client = NotificationClient(configuration: .manual)
            // The fork happens while the client's lock is held, as another thread may hold it.
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

    @Test func `posts, and the sequences of messages and outcomes, fail in the child of a fork`() async {
        await #expect(processExitsWith: .success) {
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
            func make() async throws -> (NotificationClient.PostPipeline, NotificationClient.Subscription) {
                let client = NotificationClient(configuration: .manual)
                let spec = try SubscriptionSpec(patterns: ["a"], object: nil, kind: .volatile(), limit: nil)
                let buffer = DeliveryBuffer(policy: spec.bufferPolicy, limit: nil)
                buffer.put(.batch(batch([1, 2, 3])))
                let subscription = NotificationClient.Subscription(
                    core: client.core, number: 1, buffer: buffer, ledger: nil, spec: spec)
                // The next message was taken from the buffer with this one.
                _ = try await subscription.first { _ in true }
                return (client.postPipeline(capacity: 1), subscription)
            }
            let unforked = try await make()
            #expect(try Self.codes(unforked.0, unforked.1) == [nil, nil, nil, nil, nil])
            let (pipeline, subscription) = try await make()
            let child = fork()
            if child == 0 {
                // Ends a child that waits.
                alarm(60)
                let codes = try? Self.codes(pipeline, subscription)
                _exit(codes == Array(repeating: .forked, count: 5) ? 0 : 1)
            }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child)
            #expect(status == 0)
        }
    }

    @Test func `the methods that run a client, read the log and work fail in the child of a fork`() async {
        await #expect(processExitsWith: .success) {
            let fork = unsafeBitCast(try #require(dlsym(nil, "fork")), to: Function.self)
            func make() async throws -> (
                NotificationClient, NotificationClient.StoredMessages.Iterator,
                NotificationClient.StoredMessages.Batches.Iterator
            ) {
                let client = NotificationClient(configuration: .manual)
                let query = try LogQuery(
                    patterns: ["a"], object: nil, from: .oldest, to: nil, limit: nil, follows: false)
                var page = ReceivedLogPage(LogPage(request: 1, count: 3, isEnd: true, through: 3))
                page.append(batch([1, 2, 3]))
                var cursor = LogCursor(query, from: Found(request: 1, sequence: 1, last: 3), to: nil)
                cursor.received(page.header)
                let batches = NotificationClient.StoredMessages.Batches.Iterator(
                    beginning: LogBeginning(client: client, query: query, timeout: nil), at: cursor, after: page)
                var stored = NotificationClient.StoredMessages.Iterator(batches: batches)
                // The next messages arrived with this one.
                #expect(try await stored.next() != nil)
                return (client, stored, batches)
            }
            let unforked = try await make()
            unforked.0.core.stop()
            #expect(
                Self.codes(unforked.0, unforked.1, unforked.2) == [nil, .stopped, .stopped, nil, nil, .stopped])
            let (client, stored, batches) = try await make()
            let child = fork()
            if child == 0 {
                // Ends a child that waits.
                alarm(60)
                let codes = Self.codes(client, stored, batches)
                _exit(codes == Array(repeating: .forked, count: 6) ? 0 : 1)
            }
            var status: Int32 = -1
            #expect(waitpid(child, &status, 0) == child)
            #expect(status == 0)
        }
    }
}

import Logging
import NIOCore
import NotifyWire
import ServiceLifecycle
import Synchronization
import Testing

@testable import NotifyClient

@Suite(.timeLimit(.minutes(25))) struct WorkTests {
    private struct Broken: Error, CustomStringConvertible {
        var description: String { "exit status 3" }
    }

    /// A job queue with a fake daemon that has accepted the subscription.
    private struct Queue: Sendable {
        let connection: FakeConnection
        let subscribe: Subscribe

        /// Delivers messages, each with its sequence as the payload.
        func deliver(_ sequences: [UInt64], delivery: UInt32 = 1) {
            connection.send { [number = subscribe.subscription] in
                $0.writeRun(number, sequences, isRedelivery: delivery > 1, delivery: delivery)
            }
        }

        /// The answers of the next frames, as text.
        func answers(_ count: Int) async throws -> [String] {
            var answers: [String] = []
            while answers.count < count {
                guard let frame = try await connection.next() else { return answers + ["the end"] }
                switch frame.kind {
                case .acknowledge:
                    for range in try frame.read(Acknowledge.self).ranges {
                        answers += (range.first...range.last).map { "\($0) acknowledged" }
                    }
                case .reject:
                    let reject = try frame.read(Reject.self)
                    let delay = reject.delayMicroseconds.map { " after \($0) µs" } ?? ""
                    answers.append("\(reject.sequence) \(reject.outcome)\(delay): \(reject.reason)")
                case .extend, .credit: break
                default: answers.append("\(frame.kind)")
                }
            }
            return answers
        }
    }

    private static let kind = NotificationClient.SubscriptionKind.durable("w", sharing: .group)
    /// The deadline is so long that it is not extended, however slow the machine is.
    private static let settings: NotifyWire.DurableSettings = {
        var settings = NotifyWire.DurableSettings(defaultsFor: .group)
        settings.deadlineMicroseconds = 3_600_000_000
        return settings
    }()

    /// Runs `work` in a task, and passes the queue to `body`. `body` must end the work by cancelling the task.
    private func work(
        parallel: Int = 4, handler: @escaping @Sendable (NotificationClient.Message) async throws -> Void,
        _ body: (Queue, Task<Void, any Error>) async throws -> Void
    ) async throws {
        try await FakeDaemon.run { daemon in
            let path = daemon.path
            let worker = Task {
                try await withNotificationClient(configuration: .test(path)) { client in
                    try await client.work(on: "jobs.>", as: Self.kind, parallel: parallel, handler)
                }
            }
            let connection = try await daemon.accept()
            let subscribe = try await connection.acceptSubscription()
            let describe: Describe = try await connection.expect()
            connection.send(
                DurableDescription(
                    DurableEntry(request: describe.request, uid: 1, durableName: "w", patterns: ["jobs.>"]),
                    settings: Self.settings))
            try await body(Queue(connection: connection, subscribe: subscribe), worker)
            worker.cancel()
            _ = await worker.result
        }
    }

    @Test func `the window equals the parallelism, and the kind stays a group`() async throws {
        try await work(parallel: 7, handler: { _ in }) { queue, _ in
            #expect(queue.subscribe.window == 7 && queue.subscribe.sharing == .group)
            #expect(queue.subscribe.durableName == "w" && queue.subscribe.patterns == ["jobs.>"])
        }
    }

    @Test func `the error that a handler throws decides the answer`() async throws {
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            switch job.sequence {
            case 1: break
            case 2: throw Broken()
            case 3: throw NotificationClient.JobError.retry("busy", after: .seconds(2))
            case 4: throw NotificationClient.JobError.retry()
            case 5: throw NotificationClient.JobError.giveBack(after: .zero)
            case 6: throw NotificationClient.JobError.deadLetter("no such account")
            case 7: _ = try job.decode(as: [String].self)
            case 8:
                job.deadLetter(reason: "own answer")
                throw Broken()
            // The error is about the payload of another message.
            case 9: throw NotifyError(.coding, "no number", detail: 4)
            default: throw CancellationError()
            }
        }
        let expected = [
            "1 acknowledged", "2 failed: exit status 3", "3 failed after 2000000 µs: busy", "4 failed: ",
            "5 returned after 0 µs: ", "6 dead: no such account", "7 dead: the payload of 'a.b'",
            "8 dead: own answer", "9 failed: coding: no number", "10 failed: CancellationError()",
        ]
        try await work(parallel: 1, handler: handler) { queue, _ in
            for (index, expected) in expected.enumerated() {
                queue.deliver([UInt64(index + 1)])
                let answers = try await queue.answers(1)
                #expect(answers.count == 1 && answers[0].hasPrefix(expected), "\(answers)")
            }
        }
    }

    @Test func `up to the permitted number of handlers run at the same time`() async throws {
        let gates = (0..<5).map { _ in Inbox<Void>() }
        let running = Atomic<Int>(0)
        let highest = Atomic<Int>(0)
        let started = Inbox<UInt64>()
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            let count = running.add(1, ordering: .relaxed).newValue
            highest.max(count, ordering: .relaxed)
            started.put(job.sequence)
            try await gates[Int(job.sequence)].next()
            running.subtract(1, ordering: .relaxed)
        }
        try await work(parallel: 2, handler: handler) { queue, _ in
            // These are more messages than the window. A daemon sends that many only after deadlines have passed.
            queue.deliver([1, 2, 3, 4])
            let first = [try await started.next(), try await started.next()]
            #expect(Set(first) == [1, 2])
            gates[2].put(())
            #expect(try await queue.answers(1) == ["2 acknowledged"])
            #expect(try await started.next() == 3)
            for gate in gates { gate.put(()) }
            let answers = try await queue.answers(3)
            #expect(Set(answers) == ["1 acknowledged", "3 acknowledged", "4 acknowledged"])
        }
        #expect(highest.load(ordering: .relaxed) == 2 && running.load(ordering: .relaxed) == 0)
    }

    @Test func `a cancellation acknowledges the messages of handlers that return, and then detaches`() async throws {
        let started = Inbox<UInt64>()
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            started.put(job.sequence)
            // Waits until the handler is cancelled.
            try? await Inbox<Void>().next()
            if job.sequence == 2 { throw Broken() }
        }
        try await work(parallel: 3, handler: handler) { queue, worker in
            queue.deliver([1, 2])
            _ = (try await started.next(), try await started.next())
            worker.cancel()
            #expect(try await queue.answers(4) == ["1 acknowledged", "detach", "ping", "the end"])
            try await worker.value
        }
    }

    @Test func `an error that ends the subscription cancels the handlers and is thrown`() async throws {
        let started = Inbox<UInt64>()
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            started.put(job.sequence)
            // Waits until the handler is cancelled.
            try? await Inbox<Void>().next()
        }
        try await work(handler: handler) { queue, worker in
            queue.deliver([1])
            _ = try await started.next()
            queue.connection.send(
                ErrorFrame(code: .takenOver, subscription: queue.subscribe.subscription, message: "taken over"))
            let error = await #expect(throws: NotifyError.self) { try await worker.value }
            #expect(error?.code == .takenOver)
        }
    }

    @Test func `a shutdown gives back messages that no handler has, and grants no more credit`() async throws {
        let started = Inbox<UInt64>()
        let gates = (0...5).map { _ in Inbox<Void>() }
        let kind = Self.kind
        try await FakeDaemon.run { daemon in
            let client = NotificationClient(configuration: .test(daemon.path))
            let service = Worker { [client] in
                try await client.work(on: "jobs.>", as: kind, parallel: 2) { job in
                    started.put(job.sequence)
                    try await gates[Int(job.sequence)].next()
                }
            }
            let group = ServiceGroup(
                services: [client, service], logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
            async let running: Void = group.run()
            let connection = try await daemon.accept()
            let queue = Queue(connection: connection, subscribe: try await connection.acceptSubscription())
            #expect(queue.subscribe.credit == 2)
            let describe: Describe = try await connection.expect()
            connection.send(
                DurableDescription(
                    DurableEntry(request: describe.request, uid: 1, durableName: "w", patterns: ["jobs.>"]),
                    settings: Self.settings))
            queue.deliver([1, 2])
            #expect(Set([try await started.next(), try await started.next()]) == [1, 2])
            gates[1].put(())
            let _: Acknowledge = try await connection.expect()
            #expect(try await connection.expect(Credit.self).messages == 1)
            // This is one message more than the credit, as after a passed deadline, so 4 waits for a handler.
            queue.deliver([3, 4])
            #expect(try await started.next() == 3)
            await group.triggerGracefulShutdown()
            #expect(try await queue.answers(1) == ["4 returned after 0 µs: "])
            queue.deliver([5])
            #expect(try await queue.answers(1) == ["5 returned after 0 µs: "])
            gates[2].put(())
            let _: Acknowledge = try await connection.expect()
            gates[3].put(())
            // No credit precedes the acknowledgement.
            let _: Acknowledge = try await connection.expect()
            #expect(try await queue.answers(1) == ["detach"])
            try await running
        }
    }

    private struct Worker: Service {
        let work: @Sendable () async throws -> Void

        func run() async throws { try await work() }
    }

    @Test func `a message that fails is handed out again, with the number of the delivery`() async throws {
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            if job.delivery < 3 { throw NotificationClient.JobError.retry("attempt \(job.delivery)") }
        }
        try await work(handler: handler) { queue, _ in
            queue.deliver([5])
            var answers = try await queue.answers(1)
            queue.deliver([5], delivery: 2)
            answers += try await queue.answers(1)
            queue.deliver([5], delivery: 3)
            answers += try await queue.answers(1)
            #expect(answers == ["5 failed: attempt 1", "5 failed: attempt 2", "5 acknowledged"])
        }
    }

    @Test func `if the connection is lost while handlers run, no message is handed out twice or lost`() async throws {
        let started = Inbox<UInt64>()
        let gates = (0...3).map { _ in Inbox<Void>() }
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            started.put(job.sequence)
            try await gates[Int(job.sequence)].next()
        }
        try await FakeDaemon.run { daemon in
            let path = daemon.path
            let worker = Task {
                try await withNotificationClient(configuration: .test(path)) { client in
                    try await client.work(on: "jobs.>", as: Self.kind, parallel: 2, handler)
                }
            }
            let first = try await daemon.accept()
            let lost = Queue(connection: first, subscribe: try await first.acceptSubscription())
            lost.deliver([1, 2])
            #expect(Set([try await started.next(), try await started.next()]) == [1, 2])
            try await first.close()
            let connection = try await daemon.accept()
            // The handler ends before or after its message is delivered again.
            gates[1].put(())
            let queue = Queue(
                connection: connection, subscribe: try await connection.acceptSubscription(isResumed: true))
            let describe: Describe = try await connection.expect()
            connection.send(
                DurableDescription(
                    DurableEntry(request: describe.request, uid: 1, durableName: "w", patterns: ["jobs.>"]),
                    settings: Self.settings))
            queue.deliver([1, 2], delivery: 2)
            #expect(try await queue.answers(1) == ["1 acknowledged"])
            queue.deliver([3])
            #expect(try await started.next() == 3)
            gates[2].put(())
            #expect(try await queue.answers(1) == ["2 acknowledged"])
            gates[3].put(())
            #expect(try await queue.answers(1) == ["3 acknowledged"])
            worker.cancel()
            try await worker.value
        }
        #expect(started.all().isEmpty)
    }

    @Test func `a message that waits for a handler too long is given back, and handed out later`() async throws {
        let started = Inbox<UInt64>()
        let gate = Inbox<Void>()
        let handler = { @Sendable (job: NotificationClient.Message) async throws in
            started.put(job.sequence)
            if job.sequence == 1 { try await gate.next() }
        }
        try await work(parallel: 1, handler: handler) { queue, _ in
            queue.deliver([1])
            let first = try await started.next()
            #expect(first == 1)
            // This message exceeds the credit, as after a lost connection.
            queue.deliver([2])
            let number = queue.subscribe.subscription
            queue.connection.send(DeadlineNotice(subscription: number, microseconds: 100_000))
            #expect(try await queue.answers(1) == ["2 returned: "])
            queue.connection.send(DeadlineNotice(subscription: number, microseconds: 3_600_000_000))
            gate.put(())
            #expect(try await queue.answers(1) == ["1 acknowledged"])
            queue.deliver([2])
            #expect(try await queue.answers(1) == ["2 acknowledged"])
            #expect(try await started.next() == 2)
        }
        #expect(started.all().isEmpty)
    }

    @Test func `bad arguments are refused`() async {
        let client = NotificationClient()
        for (kind, parallel) in [(.volatile(), 1), (Self.kind, 0), (Self.kind, 16_385)]
            as [(NotificationClient.SubscriptionKind, Int)]
        {
            let error = await #expect(throws: NotifyError.self) {
                try await client.work(on: "a", as: kind, parallel: parallel) { _ in }
            }
            #expect(error?.code == .invalidArgument)
        }
    }
}

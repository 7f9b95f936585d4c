import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Messages whose observers are called in tasks.
@Suite(.timeLimit(.minutes(25))) struct AsyncMessageTests {
    private let center = NotificationCenter()
    private let event = Event()
    private let other = Event()
    private let calls = AsyncStream<String>.makeStream()

    /// Returns the next calls, sorted because their order is not defined.
    private func nextCalls(_ count: Int) async -> [String] {
        var notes: [String] = []
        var iterator = calls.stream.makeAsyncIterator()
        while notes.count < count, let note = await iterator.next() { notes.append(note) }
        return notes.sorted()
    }

    @Test func `each call of an observer runs in its own task`() async {
        let gates = AsyncStream<Void>.makeStream()
        // The first call does not return before the second has begun.
        let token = center.addObserver(of: Event.self, for: .didEnd) { [calls] message in
            if message.seconds == 1 {
                for await _ in gates.stream { break }
            } else {
                gates.continuation.yield()
            }
            calls.continuation.yield("\(message.seconds)")
        }
        center.post(EventDidEnd(seconds: 1))
        center.post(EventDidEnd(seconds: 2))
        #expect(await nextCalls(2) == ["1", "2"])
        center.removeObserver(token)
    }

    @Test func `observers of a subject get its posts only, observers without a subject all posts`() async {
        let tokens = [
            center.addObserver(of: event, for: .didEnd) { [calls] in calls.continuation.yield("event \($0.seconds)") },
            center.addObserver(of: Event.self, for: .didEnd) { [calls] in
                calls.continuation.yield("any \($0.seconds)")
            },
            center.addObserver(of: event, for: EventDidEnd.self) { [calls] in
                calls.continuation.yield("type and event \($0.seconds)")
            },
            center.addObserver(for: EventDidEnd.self) { [calls] in calls.continuation.yield("type \($0.seconds)") },
        ]
        center.post(EventDidEnd(seconds: 1), subject: event)
        #expect(await nextCalls(4) == ["any 1", "event 1", "type 1", "type and event 1"])
        center.post(EventDidEnd(seconds: 2), subject: other)
        #expect(await nextCalls(2) == ["any 2", "type 2"])
        center.post(EventDidEnd(seconds: 3))
        #expect(await nextCalls(2) == ["any 3", "type 3"])
        withExtendedLifetime(tokens) {}
    }

    private enum Local {
        @TaskLocal static var value = 0
    }

    @Test func `a call has no task-local values of the poster`() async {
        let token = center.addObserver(for: EventDidEnd.self) { [calls] _ in
            calls.continuation.yield("\(Local.value)")
        }
        Local.$value.withValue(1) { center.post(EventDidEnd()) }
        #expect(await nextCalls(1) == ["0"])
        withExtendedLifetime(token) {}
    }

    @Test func `messages and notifications reach observers of each other`() async {
        let token = center.addObserver(of: event, for: .didEnd) { [calls] in
            calls.continuation.yield("message \($0.seconds)")
        }
        center.post(name: EventDidEnd.name, object: event, userInfo: ["seconds": 1])
        #expect(await nextCalls(1) == ["message 1"])
        let observer = center.addObserver(forName: EventDidEnd.name, object: event, queue: nil) { [calls] in
            calls.continuation.yield("notification \($0.userInfo?["seconds"] ?? 0)")
        }
        center.post(EventDidEnd(seconds: 2), subject: event)
        #expect(await nextCalls(2) == ["message 2", "notification 2"])
        center.removeObserver(observer)
        withExtendedLifetime(token) {}
    }

    @Test func `an observation ends with its token`() async {
        var token: NotificationCenter.ObservationToken? = center.addObserver(for: EventDidEnd.self) { _ in }
        #expect(token != nil && center.center.observationCount == 1)
        token = nil
        #expect(center.center.observationCount == 0)
    }
}

import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

/// Asynchronous sequences of messages.
@Suite(.timeLimit(.minutes(25))) struct MessageSequenceTests {
    private let center = NotificationCenter()
    private let event = Event()
    private let other = Event()

    @Test func `an iterator receives messages posted after its creation`() async throws {
        let sequence = center.messages(for: EventDidEnd.self)
        center.post(EventDidEnd(seconds: 1))
        var iterator = sequence.makeAsyncIterator()
        center.post(EventDidEnd(seconds: 2))
        center.post(EventDidEnd(seconds: 3))
        #expect(try await iterator.next()?.seconds == 2)
        #expect(try await iterator.next()?.seconds == 3)
    }

    @Test func `each iterator receives all messages, and copies of an iterator share them`() async throws {
        let sequence = center.messages(for: EventDidEnd.self)
        var (first, second) = (sequence.makeAsyncIterator(), sequence.makeAsyncIterator())
        var copy = first
        center.post(EventDidEnd(seconds: 1))
        center.post(EventDidEnd(seconds: 2))
        #expect(try await first.next()?.seconds == 1)
        #expect(try await copy.next()?.seconds == 2)
        #expect(try await second.next()?.seconds == 1)
        #expect(try await second.next()?.seconds == 2)
    }

    @Test func `the observation ends with the iterator`() async throws {
        let sequence = center.messages(for: EventDidEnd.self)
        do {
            var iterator = sequence.makeAsyncIterator()
            center.post(EventDidEnd())
            #expect(try await iterator.next() != nil)
            #expect(center.center.observationCount == 1)
        }
        #expect(center.center.observationCount == 0)
    }

    @Test func `a reader whose task is cancelled receives no more messages`() async throws {
        let sequence = center.messages(for: EventDidEnd.self)
        let read = AsyncStream<Int>.makeStream()
        let task = Task {
            for await message in sequence { read.continuation.yield(message.seconds) }
            read.continuation.finish()
        }
        var readings = read.stream.makeAsyncIterator()
        // Posts repeatedly, because the reader may not observe yet.
        var number = 0
        let poster = Task {
            while !Task.isCancelled {
                number += 1
                center.post(EventDidEnd(seconds: number))
                await Task.yield()
            }
        }
        #expect(await readings.next() != nil)
        poster.cancel()
        task.cancel()
        while await readings.next() != nil {}
        #expect(center.center.observationCount == 0)
    }

    @Test func `a full buffer drops the oldest message and holds at least one`() async throws {
        var iterator = center.messages(for: EventDidEnd.self, bufferSize: 3).makeAsyncIterator()
        var smallest = center.messages(for: EventDidEnd.self, bufferSize: 0).makeAsyncIterator()
        for seconds in 1...5 { center.post(EventDidEnd(seconds: seconds)) }
        for seconds in 3...5 { #expect(try await iterator.next()?.seconds == seconds) }
        #expect(try await smallest.next()?.seconds == 5)
    }

    @Test func `a sequence has the messages of one subject or of any subject`() async throws {
        var byIdentifier = center.messages(of: event, for: .didEnd).makeAsyncIterator()
        var byType = center.messages(of: event, for: EventDidEnd.self).makeAsyncIterator()
        var ofAny = center.messages(of: Event.self, for: .didEnd).makeAsyncIterator()
        center.post(EventDidEnd(seconds: 1), subject: other)
        center.post(EventDidEnd(seconds: 2))
        center.post(EventDidEnd(seconds: 3), subject: event)
        #expect(try await byIdentifier.next()?.seconds == 3)
        #expect(try await byType.next()?.seconds == 3)
        #expect(try await ofAny.next()?.seconds == 1)
    }

    @Test func `a sequence does not retain its subject, and is empty once the subject is released`() async throws {
        var event: Event? = Event()
        weak let weakEvent = event
        let sequence = center.messages(of: event, for: EventDidEnd.self)
        event = nil
        #expect(weakEvent == nil)
        var iterator = sequence.makeAsyncIterator()
        center.post(EventDidEnd(seconds: 1))
        #expect(try await iterator.next() == nil)
    }

    @Test func `notifications are converted to messages or skipped`() async throws {
        center.center.hooks.failed = { _ in }
        var iterator = center.messages(for: EventDidEnd.self).makeAsyncIterator()
        center.post(name: EventDidEnd.name, object: nil)
        center.post(name: EventDidEnd.name, object: nil, userInfo: ["seconds": 1])
        #expect(try await iterator.next()?.seconds == 1)
    }
}

import Foundation
import NotifyCenter
import NotifyFoundation
import TestSupport
import Testing

@Suite struct NotificationsTests {
    private final class Thing: Sendable {}

    private let center = CompatibleNotificationCenter()
    private let name = NSNotification.Name("name")

    private func post(_ numbers: Range<Int>, object: Any? = nil) {
        for number in numbers { center.post(name: name, object: object, userInfo: ["n": number]) }
    }

    private func take(_ count: Int, of sequence: CompatibleNotificationCenter.Notifications) async -> [Int] {
        var numbers: [Int] = []
        if count == 0 { return numbers }
        for await notification in sequence {
            numbers.append(notification.userInfo?["n"] as? Int ?? -1)
            if numbers.count == count { break }
        }
        return numbers
    }

    @Test func `a sequence has the notifications posted since it was made, in order`() async {
        post(0..<1)
        let sequence = center.notifications(named: name)
        post(1..<4)
        #expect(await take(3, of: sequence) == [1, 2, 3])
        #expect(sequence.droppedCount == 0)
    }

    @Test func `a full buffer drops the oldest notifications and counts them`() async {
        let sequence = center.notifications(named: name, bufferSize: 5)
        post(0..<5)
        #expect(sequence.droppedCount == 0)
        post(5..<8)
        #expect(sequence.droppedCount == 3)
        #expect(await take(5, of: sequence) == [3, 4, 5, 6, 7])
    }

    @Test func `a buffer holds at least one notification`() async {
        let sequence = center.notifications(named: name, bufferSize: 0)
        post(0..<2)
        #expect(sequence.droppedCount == 1)
        #expect(await take(1, of: sequence) == [1])
    }

    @Test func `a sequence can be limited to one object`() async {
        let (thing, other) = (Thing(), Thing())
        let sequence = center.notifications(named: name, object: thing)
        post(0..<1, object: other)
        post(1..<2, object: thing)
        post(2..<3)
        post(3..<4, object: thing)
        #expect(await take(2, of: sequence) == [1, 3])
    }

    @Test(.timeLimit(.minutes(25))) func `a waiting reader gets posted notifications`() async {
        let sequence = center.notifications(named: name, bufferSize: 1000)
        async let numbers = take(1000, of: sequence)
        for number in 0..<1000 {
            post(number..<number + 1)
            if number % 16 == 0 { await Task.yield() }
        }
        #expect(await numbers == Array(0..<1000))
        #expect(sequence.droppedCount == 0)
    }

    @Test(.timeLimit(.minutes(25))) func `a cancelled reader ends`() async {
        let sequence = center.notifications(named: name)
        let reader = Task {
            for await _ in sequence {}
            return true
        }
        await Task.yield()
        reader.cancel()
        #expect(await reader.value)
        let late = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            for await _ in sequence {}
            return true
        }
        #expect(await late.value)
    }

    @Test(.timeLimit(.minutes(25)))
    func `a reader ends when the underlying center removes all observations`() async {
        let sequence = center.notifications(named: name)
        async let numbers = take(2, of: sequence)
        post(0..<1)
        await Task.yield()
        center.center.removeAllObservations()
        #expect(await numbers.count <= 1)
        #expect(await take(1, of: sequence) == [])
    }

    @Test func `a sequence has posts of the underlying center, and posts with values as objects`() async throws {
        let sequence = center.notifications(named: .init("beneath"))
        try center.center.post("beneath", object: "text", payload: 7)
        center.post(name: .init("beneath"), object: { 17 }, userInfo: ["n": 8])
        var iterator = sequence.makeAsyncIterator()
        let first = await iterator.next()
        #expect(first?.object as? String == "text")
        #expect(first?.userInfo?[CompatibleNotificationCenter.payloadKey] as? Int == 7)
        let second = await iterator.next()
        #expect((second?.object as? () -> Int)?() == 17)
        #expect(second?.userInfo?["n"] as? Int == 8)
    }

    @Test func `the observation ends with the sequence`() {
        do { _ = center.notifications(named: name) }
        #expect(center.center.observationCount == 0)
    }

    /// The iterator returns a buffered notification without suspension, so no other task runs on the reader's actor
    /// before the read returns.
    @Test @MainActor func `an iterator reads on its reader's actor`() async {
        var iterator = center.notifications(named: name).makeAsyncIterator()
        post(0..<1)
        let journal = Journal()
        let other = Task { journal.note("other") }
        let notification = await iterator.next()
        journal.note("read \(notification?.userInfo?["n"] as? Int ?? -1)")
        await other.value
        #expect(journal.take() == ["read 0", "other"])
    }
}

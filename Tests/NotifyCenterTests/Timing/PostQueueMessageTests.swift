import TestSupport
import Testing

@testable import NotifyCenter

@Suite struct PostQueueMessageTests {
    private let center = LocalCenter()
    private let executor = ManualExecutor()
    private let journal = Journal()
    private let queue: PostQueue
    private let token: ObservationToken

    private struct Progress: NotificationMessage {
        static let notificationName: NotificationName = "progress"
        let download: Int
        let percent: Int
    }

    init() {
        queue = PostQueue(center: center, executor: executor.execute)
        token = center.observe(.every) { [journal] notification in
            if let progress = notification.payload as? Progress {
                let object = notification.object.map { " of \($0)" } ?? ""
                journal.note("\(progress.download): \(progress.percent) %" + object)
            } else {
                journal.note("\(notification.payload ?? "nothing")")
            }
        }
    }

    @Test func `every enqueued message is posted`() {
        for percent in 1...3 { #expect(queue.enqueue(Progress(download: 1, percent: percent)) == .queued) }
        executor.endTurn()
        #expect(journal.take() == ["1: 1 %", "1: 2 %", "1: 3 %"])
    }

    @Test func `the last message of a type replaces earlier ones`() {
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 1)) == .queued)
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 2), object: "a") == .queued)
        #expect(queue.enqueueLatest(Progress(download: 2, percent: 3)) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["2: 3 %", "1: 2 % of a"])
    }

    @Test func `the last message with an equal property replaces earlier ones`() {
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 1), per: \.download) == .queued)
        #expect(queue.enqueueLatest(Progress(download: 2, percent: 1), per: \.download) == .queued)
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 2), per: \.download) == .coalesced)
        // Another property is another key, even if the values are equal.
        #expect(queue.enqueueLatest(Progress(download: 3, percent: 1), per: \.percent) == .queued)
        executor.endTurn()
        #expect(journal.take() == ["1: 2 %", "2: 1 %", "3: 1 %"])
    }

    @Test func `enqueueLatest replaces only messages enqueued by enqueueLatest`() {
        queue.enqueue(Progress.notificationName, payload: "by name")
        queue.enqueue(Progress(download: 1, percent: 1))
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 2)) == .queued)
        executor.endTurn()
        #expect(journal.take() == ["by name", "1: 1 %", "1: 2 %"])
    }

    @Test func `a coalesced message has the most urgent style`() {
        queue.enqueueLatest(Progress(download: 1, percent: 1), .whenIdle)
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 2)) == .coalesced)
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 3), .whenIdle) == .coalesced)
        executor.endTurn()
        #expect(journal.take() == ["1: 3 %"])
        queue.enqueueLatest(Progress(download: 1, percent: 4))
        #expect(queue.enqueueLatest(Progress(download: 1, percent: 5), .now) == .posted)
        executor.endTurn()
        #expect(journal.take() == ["1: 5 %"])
    }

    @Test func `messages reach observers of their type`() {
        let typed = center.observe(Progress.self, object: "a") { [journal] in journal.note("typed \($0.percent)") }
        queue.enqueue(Progress(download: 1, percent: 1), object: "a")
        executor.endTurn()
        #expect(journal.take() == ["1: 1 % of a", "typed 1"])
        typed.cancel()
    }
}

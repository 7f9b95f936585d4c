import DequeModule
import Testing

@testable import NotifyCenter

@Suite struct MailboxTests {
    private func drain(_ mailbox: inout Mailbox<Int>) -> [Int] {
        var taken: [Int] = []
        while let next = mailbox.take() { taken.append(next.element) }
        return taken
    }

    @Test(arguments: [1, 2, 3, 64, 1_000]) func `the newest messages replace the oldest`(limit: Int) {
        for count in [limit - 1, limit, limit + 1, 3 * limit] {
            var mailbox = Mailbox<Int>(.dropOldest(limit: limit))
            var replaced: [Int] = []
            for value in 0..<count {
                if case .replaced(let old) = mailbox.put(value) { replaced.append(old) }
            }
            let lost = max(0, count - limit)
            #expect(mailbox.droppedCount == lost)
            #expect(replaced == Array(0..<lost))
            #expect(drain(&mailbox) == Array(lost..<count))
        }
    }

    @Test(arguments: [1, 2, 3, 64, 1_000], [Buffering.dropNewest, Buffering.wait])
    func `the newest messages are rejected`(limit: Int, buffering: @Sendable (Int) -> Buffering) {
        for count in [limit - 1, limit, limit + 1, 3 * limit] {
            var mailbox = Mailbox<Int>(buffering(limit))
            for value in 0..<count { _ = mailbox.put(value) }
            #expect(mailbox.droppedCount == max(0, count - limit))
            #expect(drain(&mailbox) == Array(0..<min(count, limit)))
        }
    }

    @Test func `waiting posts enter in order, ahead of later posts`() {
        var mailbox = Mailbox<Int>(.wait(limit: 2))
        let posts = (0..<3).map { _ in WaitingPost() }
        for value in 0..<2 { _ = mailbox.put(value) }
        for (index, post) in posts.enumerated() {
            guard case .waiting = mailbox.put(2 + index, for: post, mayWait: { true }) else {
                Issue.record("the post does not wait")
                return
            }
        }
        let first = mailbox.take()
        #expect(first?.element == 0)
        #expect(first?.admitted === posts[0])
        // The free space belongs to the waiting posts, not to a new post.
        _ = mailbox.put(100)
        #expect(mailbox.droppedCount == 1)
        #expect(drain(&mailbox) == [1, 2, 3, 4])
    }

    @Test func `a post that stops waiting is counted as dropped`() {
        var mailbox = Mailbox<Int>(.wait(limit: 1))
        let post = WaitingPost()
        _ = mailbox.put(0)
        _ = mailbox.put(1, for: post) { true }
        _ = mailbox.put(2, for: WaitingPost()) { true }
        _ = mailbox.put(3, for: post) { true }
        #expect(mailbox.withdraw(post).map(\.element) == [1, 3])
        #expect(mailbox.withdraw(post).isEmpty)
        #expect(mailbox.droppedCount == 2)
        #expect(drain(&mailbox) == [0, 2])
    }

    @Test func `a post that may not wait is dropped`() {
        var mailbox = Mailbox<Int>(.wait(limit: 1))
        _ = mailbox.put(0, for: WaitingPost()) { false }
        #expect(mailbox.droppedCount == 0)
        _ = mailbox.put(1, for: WaitingPost()) { false }
        #expect(mailbox.droppedCount == 1)
        #expect(drain(&mailbox) == [0])
    }

    @Test func `a post to a dropping mailbox never waits`() {
        for buffering in [Buffering.dropOldest(limit: 1), .dropNewest(limit: 1)] {
            var mailbox = Mailbox<Int>(buffering)
            for value in 0..<3 {
                _ = mailbox.put(value, for: WaitingPost()) {
                    Issue.record("the mailbox asked whether the post may wait")
                    return true
                }
            }
            #expect(mailbox.droppedCount == 2)
        }
    }

    @Test func `a mailbox that takes one message accepts no second`() {
        var mailbox = Mailbox<Int>(.dropOldest(limit: 1), acceptsOne: true)
        for value in 0..<3 { _ = mailbox.put(value) }
        #expect(drain(&mailbox) == [0])
        _ = mailbox.put(3)
        #expect(drain(&mailbox) == [])
        #expect(mailbox.droppedCount == 0)
        // A post does not wait for a mailbox that accepts nothing more.
        var full = Mailbox<Int>(.wait(limit: 1), acceptsOne: true)
        for value in 0..<2 {
            _ = full.put(value, for: WaitingPost()) {
                Issue.record("the mailbox asked whether the post may wait")
                return true
            }
        }
        #expect(drain(&full) == [0])
        #expect(full.droppedCount == 0)
    }

    @Test func `a closed mailbox returns its messages and accepts none`() {
        var mailbox = Mailbox<Int>(.wait(limit: 2))
        for value in 0..<2 { _ = mailbox.put(value) }
        let post = WaitingPost()
        _ = mailbox.put(2, for: post) { true }
        let remaining = mailbox.close()
        #expect(Array(remaining.elements) == [0, 1])
        #expect(remaining.posters.map(\.element) == [2])
        _ = mailbox.put(3)
        _ = mailbox.put(4, for: post) { true }
        #expect(mailbox.isClosed)
        #expect(drain(&mailbox) == [])
        #expect(mailbox.droppedCount == 0)
        #expect(mailbox.close().elements.isEmpty)
    }
}

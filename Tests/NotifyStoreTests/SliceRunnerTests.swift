import NotifyLog
import NotifyWire
import Synchronization
import TestSupport
import Testing

@testable import NotifyStore

/// The order of sliced work and requests on the store's queue.
@Suite(.timeLimit(.minutes(25)))
struct SliceRunnerTests {
    /// The names of the slices and requests that have run on the queue, in order.
    private final class Record: Sendable {
        private let entries = Mutex<[String]>([])

        func note(_ entry: String) { entries.withLock { $0.append(entry) } }
        var all: [String] { entries.withLock { $0 } }
    }

    /// Work of a number of slices.
    private class Work: SlicedWork {
        private let name: String
        private var slices: Int
        private let record: Record
        private(set) var hasReleasedLog = false
        /// Called within each slice.
        var body: () -> Void = {}

        init(_ name: String, slices: Int, _ record: Record) {
            (self.name, self.slices, self.record) = (name, slices, record)
        }

        func advance(until end: ContinuousClock.Instant) -> Bool {
            record.note(name)
            body()
            slices -= 1
            return slices > 0 && !hasReleasedLog
        }

        func releaseLog() { hasReleasedLog = true }
    }

    private final class OtherWork: Work {}

    private let record = Record()

    @Test func `several works take turns slice by slice`() async {
        let (queue, record) = (SerialQueue(), record)
        await completion { done in
            queue.add {
                let runner = SliceRunner(queue: queue)
                let last = Work("c", slices: 4, record)
                runner.add(Work("a", slices: 3, record))
                runner.add(Work("b", slices: 1, record))
                runner.add(last)
                last.body = { if record.all.count == 8 { done(()) } }
            }
        }
        #expect(record.all == ["a", "b", "c", "a", "c", "a", "c", "c"])
    }

    @Test func `a request waits for one slice at most, even if several works are under way`() async {
        let (queue, record) = (SerialQueue(), record)
        await completion { done in
            queue.add {
                let runner = SliceRunner(queue: queue)
                for name in ["a", "b", "c"] {
                    let work = Work(name, slices: 3, record)
                    work.body = {
                        queue.add {
                            record.note("request")
                            if record.all.count == 18 { done(()) }
                        }
                    }
                    runner.add(work)
                }
            }
        }
        #expect(record.all == ["a", "b", "c", "a", "b", "c", "a", "b", "c"].flatMap { [$0, "request"] })
    }

    @Test func `work that is added within a slice gets its turn after the others`() async {
        let (queue, record) = (SerialQueue(), record)
        await completion { done in
            queue.add {
                let runner = SliceRunner(queue: queue)
                let (first, added) = (Work("a", slices: 1, record), Work("added", slices: 1, record))
                first.body = { if record.all.count == 1 { runner.add(added) } }
                added.body = { done(()) }
                runner.add(first)
                runner.add(Work("b", slices: 1, record))
            }
        }
        #expect(record.all == ["a", "b", "added"])
    }

    @Test func `work is found by its kind until it ends`() async {
        let (queue, record) = (SerialQueue(), record)
        let found = await completion { done in
            queue.add {
                let runner = SliceRunner(queue: queue)
                let work = OtherWork("a", slices: 1, record)
                let before = runner.active(OtherWork.self) == nil
                runner.add(work)
                let during = runner.active(OtherWork.self) === work
                queue.add { done([before, during, runner.active(OtherWork.self) == nil]) }
            }
        }
        #expect(found == [true, true, true])
    }

    @Test func `all pending work releases the log when it is closed`() async {
        let (queue, record) = (SerialQueue(), record)
        await completion { done in
            queue.add {
                let runner = SliceRunner(queue: queue)
                let last = Work("b", slices: 9, record)
                runner.add(Work("a", slices: 9, record))
                runner.add(last)
                runner.releaseLog()
                last.body = { done(()) }
            }
        }
        #expect(record.all == ["a", "b"])
    }

    @Test func `a search during a check waits for one slice at most`() async throws {
        let folder = try TemporaryFolder()
        var options = StoreOptions.withoutTimer
        options.segmentMessages = 64
        let store = try Store.open(path: folder.database, options: options)
        for first in stride(from: 1, to: 40_000, by: 4_000) as StrideTo<UInt64> {
            await store.commit((first..<first + 4_000).map { StoredMessage($0) })
        }
        let record = record
        // The search is added at the end of the check's first slice, ahead of the second one.
        let findings: LogFindings = await completion { done in
            store.checkLog { _ in
                record.note("progress")
                guard record.all == ["progress"] else { return }
                store.findSequence(atOrAfter: 0) { record.note("found \((try? $0.get()) ?? 0)") }
            } completion: {
                done($0)
            }
        }
        #expect(findings.messages == 40_000)
        #expect(record.all.prefix(2) == ["progress", "found 1"])
        try store.close(nextSequence: 40_001)
    }
}

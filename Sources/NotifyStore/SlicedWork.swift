/// Work that takes longer than requests may wait, so that it is done in slices between them.
protocol SlicedWork: AnyObject {
    /// Works until a time, besides the last step that it begins. At the end, or if it can't continue, reports the
    /// result.
    ///
    /// - Returns: Whether work remains.
    func advance(until end: ContinuousClock.Instant) -> Bool
    /// Releases all state of the open log, which is about to be closed, and perhaps to be replaced. The next slice
    /// begins again, or reports the failure.
    func releaseLog()
}

/// Runs sliced work on the queue of the requests: a slice of the work that has waited longest, then the requests that
/// were added meanwhile, then the next slice. A request therefore waits for one slice at most, whatever work is under
/// way, and works of different kinds take turns.
///
/// A work ends by itself: when it is done, when it fails, or when the log or its request has ended.
///
/// `@unchecked Sendable`: used only in closures on the queue, which run one after another.
final class SliceRunner: @unchecked Sendable {
    /// The duration of a slice, besides its last step.
    static let slice = Duration.milliseconds(2)

    private let queue: SerialQueue
    /// In the order of their turns. The first one is working while a slice runs.
    private var works: [any SlicedWork] = []
    /// Whether a slice is queued or runs.
    private var isActive = false

    init(queue: SerialQueue) {
        self.queue = queue
    }

    /// Adds a work behind the others.
    func add(_ work: any SlicedWork) {
        works.append(work)
        guard !isActive else { return }
        isActive = true
        queue.add { self.runSlice() }
    }

    /// The work of a kind that is under way; nil if there is none.
    func active<Work: SlicedWork>(_: Work.Type) -> Work? {
        for case let work as Work in works { return work }
        return nil
    }

    /// Lets each work release the log.
    func releaseLog() {
        for work in works { work.releaseLog() }
    }

    private func runSlice() {
        let work = works[0]
        let remains = work.advance(until: .now + Self.slice)
        works.removeFirst()
        if remains { works.append(work) }
        isActive = !works.isEmpty
        if isActive { queue.add { self.runSlice() } }
    }
}

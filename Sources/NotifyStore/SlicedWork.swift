/// Work that is done in slices between requests, because it takes longer than a request may wait.
protocol SlicedWork: AnyObject {
    /// Continues the work until a time. The last step may take longer. Reports the result when the work is complete or
    /// can't continue.
    ///
    /// - Returns: Whether work remains.
    func advance(until end: ContinuousClock.Instant) -> Bool
    /// Releases all state of the open log, which is about to be closed and may be replaced. The next slice starts the
    /// work again, or reports its failure.
    func releaseLog()
}

/// Runs sliced work on the queue of the requests: a slice of the work that has waited longest, then the requests that
/// were added meanwhile, then the next slice. A request therefore waits for one slice at most, and several works take
/// turns.
///
/// Work ends when it is complete, when it fails, when the log is closed, or when its request has ended.
///
/// `@unchecked Sendable`: used only in closures on the queue, which run one after another.
final class SliceRunner: @unchecked Sendable {
    /// The duration of a slice. Its last step may take longer.
    static let slice = Duration.milliseconds(2)

    let queue: SerialQueue
    /// The pending works, in the order of their turns. A slice runs the first one.
    private var works: [any SlicedWork] = []
    /// Whether a slice is queued or runs.
    private var isActive = false

    init(queue: SerialQueue) {
        self.queue = queue
    }

    /// Adds work after the pending works.
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

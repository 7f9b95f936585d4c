import Synchronization

/// Keeps jobs until the test says that a turn is over.
final class ManualExecutor: Sendable {
    private let jobs = Mutex<[@Sendable () -> Void]>([])

    var jobCount: Int { jobs.withLock { $0.count } }

    var execute: @Sendable (@escaping @Sendable () -> Void) -> Void {
        { [self] job in jobs.withLock { $0.append(job) } }
    }

    /// Runs what is there now, and not what comes meanwhile.
    func endTurn() {
        let turn = jobs.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in turn { job() }
    }
}

import Synchronization

/// An executor that runs its jobs when a test ends the turn.
final class ManualExecutor: Sendable {
    private let jobs = Mutex<[@Sendable () -> Void]>([])

    var jobCount: Int { jobs.withLock { $0.count } }

    var execute: @Sendable (@escaping @Sendable () -> Void) -> Void {
        { [self] job in jobs.withLock { $0.append(job) } }
    }

    /// Runs the pending jobs, but not the jobs that are added during this turn.
    func endTurn() {
        let turn = jobs.withLock { jobs in
            defer { jobs = [] }
            return jobs
        }
        for job in turn { job() }
    }
}

/// Runs tasks on a `JobThread`.
final class JobExecutor: TaskExecutor {
    private let thread: JobThread
    /// Whether the tasks wait until there is nothing else to do.
    let isBackground: Bool

    init(_ thread: JobThread, isBackground: Bool = false) {
        self.thread = thread
        self.isBackground = isBackground
    }

    func enqueue(_ job: consuming ExecutorJob) {
        thread.enqueue(UnownedJob(job), on: self)
    }
}

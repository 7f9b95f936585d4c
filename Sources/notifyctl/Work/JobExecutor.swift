import CGNU
import Glibc
import Synchronization
import SystemPackage

/// A thread that runs the tasks of commands, and waits for the ends of their processes.
///
/// The thread that learns of a command's end also starts the next command. On Swift's pool, several threads would wake
/// one another in between, which takes a large part of the time of a short command. The thread runs until the program
/// ends. Its tasks must not block.
final class JobExecutor: TaskExecutor {
    private struct State {
        var jobs: [UnownedJob] = []
        /// Whether the thread waits, so that a new job must wake it.
        var isWaiting = false
        /// The tasks that wait for the end of a process, by its descriptor.
        var ends: [Int32: UnsafeContinuation<Void, Never>] = [:]
    }

    private let state = Mutex(State())
    /// Readable if a job was added while the thread waits.
    private let wakeUp: Int32

    /// Starts the thread.
    ///
    /// - Throws: `Errno` if the process may have no more descriptors or threads.
    init() throws(Errno) {
        wakeUp = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard wakeUp >= 0 else { throw Errno(rawValue: errno) }
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                // The kernel drops SIGCHLD if the thread that started the process does not block it. If that thread
                // blocks it, the signal wakes other threads for nothing. The threads of swift-subprocess inherit this
                // mask.
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGCHLD)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                Unmanaged<JobExecutor>.fromOpaque(raw).takeRetainedValue().run()
            }, Unmanaged.passRetained(self).toOpaque())
        guard error == 0 else { throw Errno(rawValue: error) }
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let isWaiting = state.withLock { state in
            state.jobs.append(job)
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if isWaiting { eventfd_write(wakeUp, 1) }
    }

    /// Waits for the end of a process. Called in a task of this executor; only one task may wait for a process.
    ///
    /// - Parameter process: The process's descriptor.
    func end(of process: Int32) async {
        await withUnsafeContinuation { continuation in
            state.withLock { $0.ends[process] = continuation }
        }
    }

    private func run() -> Never {
        while true {
            let (jobs, processes) = state.withLock { state in
                defer { state.jobs.removeAll() }
                state.isWaiting = state.jobs.isEmpty
                return (state.jobs, state.isWaiting ? Array(state.ends.keys) : [])
            }
            if jobs.isEmpty { wait(processes) }
            for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }

    /// Waits for a job, or for the end of a process.
    private func wait(_ processes: [Int32]) {
        var events = ([wakeUp] + processes).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        poll(&events, nfds_t(events.count), -1)
        var count: eventfd_t = 0
        if events[0].revents != 0 { eventfd_read(wakeUp, &count) }
        let ended = state.withLock { state in
            state.isWaiting = false
            return events.dropFirst().filter { $0.revents != 0 }.compactMap { state.ends.removeValue(forKey: $0.fd) }
        }
        for continuation in ended { continuation.resume() }
    }
}

import CGNU
import DequeModule
import Glibc
import Synchronization
import SystemPackage

/// A thread that runs the tasks of commands, and waits for the ends of their processes.
///
/// The thread that learns of a command's end also starts the next command. On Swift's pool, several threads would wake
/// one another in between, which takes a large part of the time of a short command. For the same reason, background
/// tasks, which are those of swift-subprocess, run while a command runs: their preparations for a cancellation and
/// their cleanup take as long as a start. They go first while more than a few commands wait for their cleanup. The
/// thread runs until the program ends. Its tasks must not block.
final class JobThread: Sendable {
    /// The most commands that wait for their cleanup while other tasks go first. Each has a zombie process and a
    /// descriptor.
    static let maximumEnded = 8

    private struct Job {
        let job: UnownedJob
        let executor: JobExecutor
    }

    /// A process whose end is awaited.
    private struct Process {
        let onEnd: @Sendable () -> Void
        let waiter: UnsafeContinuation<Void, Never>
    }

    private struct State {
        var thread: pthread_t?
        var jobs: Deque<Job> = []
        var backgroundJobs: Deque<Job> = []
        /// The number of commands from the beginning of the start to the end of the cleanup.
        var commands = 0
        /// The number of those that are being started.
        var starting = 0
        /// The processes whose ends are awaited, by their descriptors.
        var processes: [Int32: Process] = [:]
        /// Whether the thread waits, so that a new job must wake it.
        var isWaiting = false

        /// Whether too many commands wait for their cleanup.
        var isCleanupLate: Bool { commands - starting - processes.count > maximumEnded }

        /// Whether a background job would delay the start of a command. Later, it runs beside the command.
        var delaysStart: Bool { starting > 0 && processes.isEmpty }
    }

    private let state = Mutex(State())
    /// Reports the ends of processes and `wakeUp`.
    private let events: Int32
    /// Readable if a job was added while the thread waits.
    private let wakeUp: Int32
    private let startMilliseconds: Int32

    /// Starts the thread.
    ///
    /// - Parameter startMilliseconds: How long background jobs wait for a start at most; -1 for no limit. The limit is
    ///   needed only if a start itself depends on a background job. In swift-subprocess 1.0 none does.
    /// - Throws: `Errno` if the process may have no more descriptors or threads.
    init(startMilliseconds: Int32 = 1) throws(Errno) {
        self.startMilliseconds = startMilliseconds
        events = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard events >= 0 else { throw Errno(rawValue: errno) }
        wakeUp = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        // From here on, `deinit` runs if an error is thrown.
        guard wakeUp >= 0 else { throw Errno(rawValue: errno) }
        try Self.control(events, EPOLL_CTL_ADD, wakeUp)
        let retained = Unmanaged.passRetained(self)
        var thread = pthread_t()
        let error = pthread_create(
            &thread, nil,
            { raw in
                guard let raw else { return nil }
                // The commands inherit the policy from here.
                SchedulingPolicy.restore()
                // The kernel drops SIGCHLD if the thread that started the process does not block it. If that thread
                // blocks it, the signal wakes other threads for nothing. The threads of swift-subprocess inherit this
                // mask.
                var signals = sigset_t()
                sigemptyset(&signals)
                sigaddset(&signals, SIGCHLD)
                pthread_sigmask(SIG_UNBLOCK, &signals, nil)
                Unmanaged<JobThread>.fromOpaque(raw).takeRetainedValue().run()
            }, retained.toOpaque())
        guard error == 0 else {
            retained.release()
            throw Errno(rawValue: error)
        }
    }

    /// After a failed start: the thread keeps this object until the program ends.
    deinit {
        for descriptor in [events, wakeUp] where descriptor >= 0 { close(descriptor) }
    }

    /// Runs a job of a task, soon or, for a background executor, when there is nothing else to do.
    func enqueue(_ job: UnownedJob, on executor: JobExecutor) {
        let job = Job(job: job, executor: executor)
        let isWaiting = state.withLock { state in
            // Another thread reports that a process was started: the start continues.
            let isStart = state.starting > 0 && state.thread.map { pthread_equal($0, pthread_self()) } == 0
            if executor.isBackground && !isStart { state.backgroundJobs.append(job) } else { state.jobs.append(job) }
            defer { state.isWaiting = false }
            return state.isWaiting
        }
        if isWaiting { eventfd_write(wakeUp, 1) }
    }

    /// Announces the start of a command. Until `endStart`, background jobs wait unless another command runs.
    func beginStart() {
        state.withLock { state in
            state.commands += 1
            state.starting += 1
        }
    }

    func endStart() {
        state.withLock { $0.starting -= 1 }
    }

    /// Must be called once for each start, after the cleanup.
    func cleanupEnded() {
        state.withLock { $0.commands -= 1 }
    }

    /// Waits for the end of a process. Returns at once, without calling `onEnd`, if the system can't report the end.
    /// Only one task may wait for a process.
    ///
    /// - Parameters:
    ///   - process: The process's descriptor, which stays open until this method returns.
    ///   - onEnd: Called on the thread when the process has ended, before any other job.
    func end(of process: Int32, onEnd: @escaping @Sendable () -> Void) async {
        await withUnsafeContinuation { waiter in
            let isWaiting = state.withLock { state in
                state.processes[process] = Process(onEnd: onEnd, waiter: waiter)
                do {
                    // Once, so that the thread does not depend on the removal, which some kernels refuse at this time.
                    try Self.control(events, EPOLL_CTL_ADD, process, EPOLLIN.rawValue | EPOLLONESHOT.rawValue)
                    return true
                } catch {
                    state.processes[process] = nil
                    return false
                }
            }
            if !isWaiting { waiter.resume() }
        }
    }

    private func run() -> Never {
        state.withLock { $0.thread = pthread_self() }
        while true {
            let (job, limit) = state.withLock { state -> (Job?, Int32) in
                if state.isCleanupLate, let job = state.backgroundJobs.popFirst() { return (job, 0) }
                if let job = state.jobs.popFirst() { return (job, 0) }
                let limit = state.backgroundJobs.isEmpty ? -1 : state.delaysStart ? startMilliseconds : 0
                state.isWaiting = limit != 0
                return (nil, limit)
            }
            if let job {
                run(job)
            } else if !wait(milliseconds: limit), let job = state.withLock({ $0.backgroundJobs.popFirst() }) {
                run(job)
            }
        }
    }

    private func run(_ job: Job) {
        job.job.runSynchronously(on: job.executor.asUnownedTaskExecutor())
    }

    /// Waits for a job, or for the ends of processes.
    ///
    /// - Returns: False if the time has passed without any.
    private func wait(milliseconds: Int32) -> Bool {
        withUnsafeTemporaryAllocation(of: epoll_event.self, capacity: 64) { list in
            let count = Int(epoll_wait(events, list.baseAddress, Int32(list.count), milliseconds))
            state.withLock { $0.isWaiting = false }
            // A signal that interrupts the wait must not let a background job delay a start.
            guard count >= 0 else { return true }
            guard count > 0 else { return false }
            for event in list[..<count] {
                guard event.data.fd != wakeUp else {
                    var value: eventfd_t = 0
                    eventfd_read(wakeUp, &value)
                    continue
                }
                // Before swift-subprocess closes the descriptor.
                try? Self.control(events, EPOLL_CTL_DEL, event.data.fd)
                guard let process = state.withLock({ $0.processes.removeValue(forKey: event.data.fd) }) else {
                    continue
                }
                process.onEnd()
                process.waiter.resume()
            }
            return true
        }
    }

    private static func control(
        _ events: Int32, _ operation: Int32, _ descriptor: Int32, _ kinds: UInt32 = EPOLLIN.rawValue
    ) throws(Errno) {
        var event = epoll_event(events: kinds, data: epoll_data(fd: descriptor))
        guard epoll_ctl(events, operation, descriptor, &event) == 0 else { throw Errno(rawValue: errno) }
    }
}

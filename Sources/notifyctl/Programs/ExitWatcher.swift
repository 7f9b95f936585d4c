import CGNU
import Glibc

/// Reaps commands when they have ended, on a thread of its own.
final class ExitWatcher: Sendable {
    /// The watcher of all commands. Its thread never ends.
    static let shared = ExitWatcher(poll: start())

    /// The interval at which a process without a pidfd is checked: the kernel is older than Linux 5.3, or has no
    /// descriptor left.
    private static let interval = Duration.milliseconds(10)

    /// The epoll descriptor for the pidfds; -1 if no thread waits for events.
    private let poll: Int32

    init(poll: Int32) {
        self.poll = poll
    }

    /// Starts the thread.
    ///
    /// - Returns: The epoll descriptor on which the thread waits; -1 if there is no thread.
    private static func start() -> Int32 {
        let poll = epoll_create1(Int32(EPOLL_CLOEXEC))
        guard poll >= 0 else { return -1 }
        var thread = pthread_t()
        let code = pthread_create(
            &thread, nil,
            { context in
                ExitWatcher.run(Int32(Int(bitPattern: context)))
                return nil
            }, UnsafeMutableRawPointer(bitPattern: Int(poll)))
        guard code == 0 else {
            close(poll)
            return -1
        }
        pthread_detach(thread)
        return poll
    }

    /// Reaps the process as soon as it ends.
    func watch(_ process: ProgramProcess) {
        guard process.descriptor >= 0 else { return Self.check(process) }
        let context = Unmanaged.passRetained(process)
        // At most one event. Otherwise, events would continue after the descriptor was closed, as long as a process
        // that is being started has a copy of it.
        var event = epoll_event(
            events: EPOLLIN.rawValue | EPOLLONESHOT.rawValue, data: epoll_data(ptr: context.toOpaque()))
        guard epoll_ctl(poll, EPOLL_CTL_ADD, process.descriptor, &event) != 0 else { return }
        context.release()
        close(process.descriptor)
        Self.check(process)
    }

    private static func run(_ poll: Int32) {
        var events = [epoll_event](repeating: epoll_event(), count: 64)
        while true {
            let count = epoll_wait(poll, &events, Int32(events.count), -1)
            for event in events.prefix(Int(max(count, 0))) {
                guard let context = event.data.ptr else { continue }
                let process = Unmanaged<ProgramProcess>.fromOpaque(context).takeRetainedValue()
                close(process.descriptor)
                // If a debugger traces the process, the parent can reap it only after the debugger has.
                if !process.hasEnded() { check(process) }
            }
        }
    }

    /// Checks periodically whether the process has ended.
    private static func check(_ process: ProgramProcess) {
        Task {
            while !process.hasEnded() { try? await Task.sleep(for: interval) }
        }
    }
}

import Glibc
import Subprocess
import Synchronization

/// The end of a command: its status, or why it could not be started.
final class JobEnd: Sendable {
    private struct State {
        var result: Result<TerminationStatus, any Error>?
        var waiter: CheckedContinuation<TerminationStatus, any Error>?
    }

    private let state = Mutex(State())

    /// Sets the result, and returns whether it is the first one. Only the first one counts.
    @discardableResult
    func set(_ result: Result<TerminationStatus, any Error>) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            guard state.result == nil else { return (false, nil as CheckedContinuation<TerminationStatus, any Error>?) }
            state.result = result
            return (true, state.waiter.take())
        }
        waiter?.resume(with: result)
        return isFirst
    }

    /// Waits for the result. Only one task may wait.
    var status: TerminationStatus {
        get async throws {
            try await withCheckedThrowingContinuation { continuation in
                let result = state.withLock { state in
                    if state.result == nil { state.waiter = continuation }
                    return state.result
                }
                if let result { continuation.resume(with: result) }
            }
        }
    }
}

extension TerminationStatus {
    /// The status of a child process that has ended and was not reaped; nil if there is none.
    init?(ofEnded process: pid_t) {
        var info = siginfo_t()
        guard waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0, info._sifields._sigchld.si_pid != 0
        else { return nil }
        let status = info._sifields._sigchld.si_status
        self = info.si_code == CLD_EXITED ? .exited(status) : .signaled(status)
    }
}

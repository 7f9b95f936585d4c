import Glibc
import Synchronization

/// Detects that the process is the child of a fork. The threads of the event loops do not exist in the child, so no
/// client works there: a request would wait forever, for an answer or for a lock that another thread held.
enum Fork {
    private static let isChildFlag = Atomic(false)

    /// Whether the process was forked after `watch`. Costs no system call.
    static var isChild: Bool { isChildFlag.load(ordering: .relaxed) }

    /// Begins to watch for forks.
    static func watch() {
        _ = registration
    }

    private static let registration: Void = {
        // Forces the lazy initialization of the flag in the parent. The first use of a lazy value takes a lock, which
        // the child of a fork must not do.
        isChildFlag.store(false, ordering: .relaxed)
        pthread_atfork(nil, nil) { Fork.isChildFlag.store(true, ordering: .relaxed) }
    }()
}

extension NotifyError {
    static let forked = NotifyError(
        .forked, "this process is the child of a fork, in which no client works; start another program instead (exec)")
}

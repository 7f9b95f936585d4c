import CGNU
import Glibc
import Synchronization

/// How the kernel schedules the threads of this process; see `sched(7)`.
enum SchedulingPolicy {
    /// Whether `useBatch` has changed the policy.
    private static let isBatch = Atomic(false)

    /// Gives the current thread the policy `SCHED_BATCH`, if it has the usual one. The threads that it starts inherit
    /// the policy: when they wake up, they do not interrupt other threads on the same processor.
    static func useBatch() {
        guard sched_getscheduler(0) == SCHED_OTHER, set(notifyctl_SCHED_BATCH) else { return }
        isBatch.store(true, ordering: .relaxed)
    }

    /// Gives the current thread the policy that the process had before `useBatch`.
    static func restore() {
        if isBatch.load(ordering: .relaxed) { _ = set(SCHED_OTHER) }
    }

    private static func set(_ policy: Int32) -> Bool {
        var parameters = sched_param()
        return sched_setscheduler(0, policy, &parameters) == 0
    }
}

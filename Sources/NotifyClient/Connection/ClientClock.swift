import NIOCore

/// The client's source of time and timers.
package protocol ClientClock: Sendable {
    /// The time since a fixed but arbitrary moment; monotonic.
    var now: Duration { get }
    /// Calls `work` at `moment` or soon after, on any thread.
    func wake(at moment: Duration, _ work: @escaping @Sendable () -> Void)
}

/// The clock of an event loop.
struct EventLoopClock: ClientClock {
    let loop: any EventLoop

    var now: Duration { .nanoseconds(Int64(NIODeadline.now().uptimeNanoseconds)) }

    func wake(at moment: Duration, _ work: @escaping @Sendable () -> Void) {
        loop.scheduleTask(deadline: NIODeadline(moment), work)
    }
}

extension NIODeadline {
    fileprivate init(_ moment: Duration) {
        // `components` traps if the seconds exceed 64 bits.
        guard moment < .seconds(Int64.max / 1_000_000_000) else {
            self = .distantFuture
            return
        }
        let (seconds, attoseconds) = moment.components
        self = .uptimeNanoseconds(UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds) / 1_000_000_000))
    }
}

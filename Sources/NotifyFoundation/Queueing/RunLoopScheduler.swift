import Foundation

/// Runs closures on the run loop of a thread, and wakes the run loop if necessary.
///
/// Only a timer can wake a run loop. Foundation on Linux never frees a timer or the objects that its block captures. So
/// each mode reuses one timer, and the timer's block captures no objects.
///
/// A run loop ends when it has no more work, and a timer counts as work. The run loop of the main thread always has
/// work in the default and the common modes, so its timers for these modes are permanent. Any other timer is removed
/// after an idle time: 10 ms for the first timer, and 10 ms more for each later one. Once the idle time is longer than
/// the pauses between two uses, the timer is reused. So with pauses of n seconds, a thread creates at most about 100 n
/// timers for a mode, and its run loop ends at most about n seconds later than necessary.
final class RunLoopScheduler {
    /// The scheduler of the current thread.
    static var current: RunLoopScheduler {
        let key = "NotifyFoundation.RunLoopScheduler"
        let dictionary = Thread.current.threadDictionary
        if let scheduler = dictionary[key] as? RunLoopScheduler { return scheduler }
        let scheduler = RunLoopScheduler()
        dictionary[key] = scheduler
        return scheduler
    }

    private struct Job {
        let number: UInt64
        let body: () -> Void
    }

    /// The pending jobs of each mode, the oldest first.
    private var jobs: [RunLoop.Mode: [Job]] = [:]
    private var lastNumber: UInt64 = 0

    private var timers: [RunLoop.Mode: Timer] = [:]
    private var timerCount = 0
    /// The modes whose timer has been set since the timer last fired.
    private var setTimers: Set<RunLoop.Mode> = []

    private init() {}

    /// Runs the body once, on this thread, at the end of the current turn of the run loop in this mode.
    ///
    /// Usually a block of the run loop runs the body. The timer runs the body if the block was added just before the
    /// run loop sleeps. The timer also runs the body if the run loop runs inside another block and does not see the new
    /// block.
    func performSoon(in mode: RunLoop.Mode, _ body: @escaping () -> Void) {
        let number = add(body, in: mode)
        RunLoop.current.perform(inModes: [mode]) { Self.current.run(number, in: mode) }
        setTimer(for: mode)
    }

    /// Runs the body once, on this thread, when the run loop has done everything else in this mode.
    func performWhenIdle(in mode: RunLoop.Mode, _ body: @escaping () -> Void) {
        _ = add(body, in: mode)
        setTimer(for: mode)
    }

    private func add(_ body: @escaping () -> Void, in mode: RunLoop.Mode) -> UInt64 {
        lastNumber += 1
        jobs[mode, default: []].append(Job(number: lastNumber, body: body))
        return lastNumber
    }

    private func run(_ number: UInt64, in mode: RunLoop.Mode) {
        guard let index = jobs[mode]?.firstIndex(where: { $0.number == number }) else { return }
        let job = jobs[mode]?.remove(at: index)
        // If the job runs the run loop, that run must run the remaining jobs.
        if jobs[mode]?.isEmpty == false { setTimer(for: mode) }
        job?.body()
    }
}

// MARK: - Timers

extension RunLoopScheduler {
    private func setTimer(for mode: RunLoop.Mode) {
        setTimers.insert(mode)
        // The timer fires at once, even if the clock is set back.
        let now = Date.distantPast
        if let timer = timers[mode] {
            timer.fireDate = now
        } else {
            timerCount += 1
            let timer = Timer(fire: now, interval: lifetime(in: mode), repeats: true) { _ in
                Self.current.timerFired(in: mode)
            }
            RunLoop.current.add(timer, forMode: mode)
            timers[mode] = timer
        }
    }

    /// The idle time of the next timer, in seconds. After this time, the timer is removed.
    private func lifetime(in mode: RunLoop.Mode) -> TimeInterval {
        let neverEnds = Thread.isMainThread && [.default, .common].contains(mode)
        return neverEnds ? .greatestFiniteMagnitude : 0.01 * Double(timerCount)
    }

    /// Runs the first job, or removes the timer if it was idle. The job runs in a block of the run loop, in the same
    /// turn. It does not run in the callout of the timer: during the callout, the timer does not fire again and may
    /// ignore a new fire date.
    private func timerFired(in mode: RunLoop.Mode) {
        if setTimers.remove(mode) == nil {
            timers.removeValue(forKey: mode)?.invalidate()
        } else if jobs[mode]?.isEmpty == false {
            RunLoop.current.perform(inModes: [mode]) { Self.current.runFirst(in: mode) }
        }
    }

    private func runFirst(in mode: RunLoop.Mode) {
        if let first = jobs[mode]?.first { run(first.number, in: mode) }
    }
}

import Logging
import NIOCore
import NotifyBroker
import NotifyWire

/// The driver's clock and its timer.
extension BrokerDriver {
    /// A standstill of at least this duration is logged.
    private static let loggedStandstill = Duration.seconds(1)

    /// The broker's time, which excludes standstills of the daemon.
    var now: BrokerTime {
        let read = clock()
        let (time, standstill) = loopClock.read(read.monotonic)
        if standstill > .zero { stoodStill(for: standstill) }
        return BrokerTime(monotonic: time, wallMicroseconds: read.wallMicroseconds)
    }

    /// Notes that the clock will not be read until the next event or timer.
    func mayWait() { loopClock.waits(hasTimer: timer != nil || isEnding) }

    private func stoodStill(for duration: Duration) {
        guard duration >= Self.loggedStandstill else { return }
        logger.notice("notifyd stood still for \(duration.text): this time counts towards no deadline")
    }

    /// Sets the timer, unless it is already set to an earlier deadline. If the deadline has passed, schedules a tick
    /// after the next poll instead, unless a tick is scheduled already. A timer would be wrong then, because the loop
    /// runs all due tasks before it polls: if each tick took longer than the time between two deadlines, the loop would
    /// never poll, and no client would be served.
    func wake(at deadline: Duration) {
        guard timer.map({ deadline < $0.deadline }) ?? true else { return }
        let delay = deadline - now.monotonic
        guard delay > .zero else {
            isDeadlineReached = true
            return scheduleNextTurn()
        }
        timer?.task.cancel()
        let task = schedule(in: delay) { $0.timeReached() }
        timer = (deadline, task)
    }

    /// Cancels the timer. Called when the driver ends and no tick follows.
    func cancelTimer() {
        timer?.task.cancel()
        timer = nil
    }

    private func timeReached() {
        guard let deadline = timer.take()?.deadline else { return }
        guard deadline <= now.monotonic else {
            wake(at: deadline)
            return mayWait()
        }
        isDeadlineReached = true
        scheduleTick()
    }

    /// Schedules a call of `body` after `delay`, or after ``LoopClock/maximumWait`` if that is shorter.
    func schedule(in delay: Duration, _ body: @escaping @Sendable (BrokerDriver) -> Void) -> Scheduled<Void> {
        let delay = min(delay, LoopClock.maximumWait)
        loopClock.wakesUp(at: now.monotonic + delay)
        let loopBound = NIOLoopBound(self, eventLoop: eventLoop)
        return eventLoop.scheduleTask(in: TimeAmount(delay)) { body(loopBound.value) }
    }
}

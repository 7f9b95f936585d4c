import NotifyLog

/// Writes changed values to their rows.
final class ValuePassWork: SlicedWork {
    private let current: CurrentLog
    /// Nil until the first slice, and after the log was closed.
    private var pass: ValuePass?

    init(_ current: CurrentLog) {
        self.current = current
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        guard let log = current.log else { return false }
        guard log.isSound else {
            log.values.passFailed(at: log.clock.now)
            return false
        }
        do {
            var pass = self.pass.take() ?? log.beginValuePass()
            repeat {
                guard try log.continueValuePass(&pass) else { return false }
            } while ContinuousClock.now < end
            self.pass = pass
            return true
        } catch {
            // The changes stay recorded, and a later pass tries again. Damage is noted, for the next batch.
            log.values.passFailed(at: log.clock.now)
            _ = log.failure(error)
            return false
        }
    }

    func releaseLog() { pass = nil }
}

extension CurrentLog {
    /// Begins to write changed values to their rows, if it is due and not under way.
    ///
    /// - Parameter isTimed: Whether a pass is due because of the time, too.
    func applyValuesIfDue(isTimed: Bool) {
        guard let log, log.areValuesDue || (isTimed && log.areValuesOld), slices.active(ValuePassWork.self) == nil
        else { return }
        slices.add(ValuePassWork(self))
    }
}

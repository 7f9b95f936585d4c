import NotifyLog

/// Deletes the messages that the retention policy no longer keeps, and returns space, until nothing is left to do.
final class RetentionWork: SlicedWork {
    private let current: CurrentLog

    init(_ current: CurrentLog) {
        self.current = current
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        current.isMaintaining = false
        guard let log = current.log else { return false }
        do {
            current.isMaintaining = try log.maintain(until: end)
        } catch {
            // Room was made, so the next pass tries again.
            if log.mayRetry(after: error, for: .deletion) {
                log.retention.pace.request()
            } else {
                log.retentionFailed(error)
            }
        }
        current.reportDeletion()
        return current.isMaintaining
    }

    // Each slice works on the log that is open at that time.
    func releaseLog() {}
}

extension CurrentLog {
    /// Begins the work of retention if it is due. Otherwise reports the sizes of the files, because a backup or a
    /// checkpoint may have changed them.
    ///
    /// Also begins to write changed values to their rows, if it is due.
    func maintainIfDue() {
        applyValuesIfDue(isTimed: true)
        beginMaintaining()
        log?.disk.keepReserve()
        guard !isMaintaining else { return }
        log?.reportSizes(isFinal: true)
        reportDeletion()
    }

    /// Begins the work of retention, unless it is under way.
    ///
    /// - Parameter isRequired: Whether to begin even if no work is due.
    func beginMaintaining(isRequired: Bool = false) {
        guard let log else { return }
        log.noteLook()
        guard !isMaintaining else { return }
        if isRequired { log.retention.pace.request() }
        isMaintaining = log.isMaintenanceDue
        if isMaintaining { slices.add(RetentionWork(self)) }
    }

    func reportDeletion() {
        guard let deletionHandler, let deletion = log?.takeDeletion() else { return }
        deletionHandler(deletion)
    }
}

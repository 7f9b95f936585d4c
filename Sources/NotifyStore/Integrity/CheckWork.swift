import NotifyLog
import NotifyWire

/// Checks every row of the log, or of a damaged database that can't be opened as a log.
final class CheckWork: SlicedWork {
    /// The handlers of a request: for the progress in percent, and for the findings.
    struct Handlers {
        var progress: @Sendable (Int) -> Void
        var completion: @Sendable (LogFindings) -> Void
    }

    private let current: CurrentLog
    var handlers: Handlers
    /// The percentage last reported.
    private var percent = -1
    /// Nil until the first slice, and after the log was closed. The next slice begins the check again.
    private var scan: LogScan?
    /// The damaged database, and its names; nil if the open log is checked.
    private var file: DatabaseConnection?
    private var fileNames = NameTable()

    init(_ current: CurrentLog, _ handlers: Handlers, file: DatabaseConnection?) {
        self.current = current
        self.handlers = handlers
        self.file = file
    }

    func advance(until end: ContinuousClock.Instant) -> Bool {
        guard !current.isClosed else { return false }
        var findings = LogFindings()
        if let scan = scan ?? beginScan() {
            self.scan = scan
            do {
                if try advance(scan, until: end) { return reportProgress(of: scan) }
            } catch {
                scan.findings.add(.database, current.failure(error).message)
            }
            findings = scan.findings
        }
        if let corruption = current.log?.database.corruption ?? current.corruption {
            findings.add(.database, corruption.message)
        }
        handlers.completion(findings)
        return false
    }

    private func beginScan() -> LogScan? {
        if let log = current.log { return LogScan(log) }
        return file.map { LogScan($0) }
    }

    private func advance(_ scan: LogScan, until end: ContinuousClock.Instant) throws -> Bool {
        guard let log = current.log else { return try scan.advance(&fileNames, until: end) }
        return try log.contents.withNames { try scan.advance(&$0, until: end) }
    }

    private func reportProgress(of scan: LogScan) -> Bool {
        if scan.progress != percent {
            percent = scan.progress
            handlers.progress(percent)
        }
        return true
    }

    func releaseLog() { (scan, file) = (nil, nil) }
}

extension CurrentLog {
    /// Begins a check. A check that is under way continues for this request, and no longer reports to the earlier one.
    func checkLog(
        progress: @escaping @Sendable (Int) -> Void, completion: @escaping @Sendable (LogFindings) -> Void
    ) {
        let handlers = CheckWork.Handlers(progress: progress, completion: completion)
        if let work = slices.active(CheckWork.self) {
            work.handlers = handlers
        } else {
            let isUnopened = log == nil && corruption != nil
            let file = isUnopened ? try? DatabaseConnection(reading: path) : nil
            slices.add(CheckWork(self, handlers, file: file))
        }
    }
}

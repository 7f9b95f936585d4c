import NotifyLog
import NotifyWire

/// Checking every row while the log is in use, in slices between commits.
extension Log {
    private static let checkSlice = Duration.milliseconds(2)

    /// Works for one slice.
    ///
    /// - Returns: The findings; nil if work remains.
    func continueCheck() -> LogFindings? {
        let scan = check ?? LogScan(connection, .openLog, through: persistedThrough)
        check = scan
        do {
            _ = try openStatements()
            if try scan.advance(&names, until: .now + Self.checkSlice) { return nil }
        } catch {
            scan.findings.add(.database, failure(error).message)
        }
        check = nil
        if let corruption { scan.findings.add(.database, corruption.message) }
        return scan.findings
    }
}

/// The check of the current log, for the requests that wait for it.
struct CurrentCheck {
    var progress: @Sendable (Int) -> Void
    var completion: @Sendable (LogFindings) -> Void
    /// The percentage last reported.
    var percent = -1
    /// The damaged database that can't be opened as a log, and its names.
    var file: (scan: LogScan, names: CheckedNames)?
}

/// The names of a file that is being checked.
final class CheckedNames {
    var table = NameTable()
}

extension CurrentLog {
    /// Begins a check.
    ///
    /// - Returns: Whether to call ``continueCheck()``; false if a check is under way, which then ends without a report.
    func beginCheck(_ check: CurrentCheck) -> Bool {
        let isIdle = self.check == nil
        self.check = check
        if log == nil, corruption != nil, let connection = try? DatabaseConnection(reading: path) {
            self.check?.file = (LogScan(connection, .file), CheckedNames())
        }
        return isIdle
    }

    /// Does one slice of the check, and reports its progress or its end.
    ///
    /// - Returns: Whether work remains.
    func continueCheck() -> Bool {
        guard let check else { return false }
        guard let findings = continuedFindings() else {
            let percent = log?.check?.progress ?? check.file?.scan.progress ?? 0
            if percent != check.percent {
                self.check?.percent = percent
                check.progress(percent)
            }
            return true
        }
        self.check = nil
        check.completion(findings)
        return false
    }

    private func continuedFindings() -> LogFindings? {
        if let log { return log.continueCheck() }
        var findings = LogFindings()
        if let (scan, names) = check?.file {
            do {
                if try scan.advance(&names.table, until: .now + .milliseconds(2)) { return nil }
            } catch {
                scan.findings.add(.database, "\(error)")
            }
            findings = scan.findings
        }
        if let corruption { findings.add(.database, corruption.message) }
        return findings
    }
}

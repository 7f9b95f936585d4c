import NotifyLog
import NotifyWire

/// What is known of damage in the log, and the requests that wait until the store has checked all of it.
struct LogChecks {
    struct Request {
        var connection: ConnectionID
        var request: UInt64
    }

    /// The most requests that wait at the same time.
    static let maximumRequests = 8

    /// The sequences of damaged messages that were found, as far as they are listed.
    private(set) var damagedRanges: [SequenceRange] = []
    /// The problems that the last full check has found.
    private(set) var problems: [LogProblem] = []
    private(set) var problemCount: UInt64 = 0
    private(set) var waiting: [Request] = []
    /// Whether the store is checking. This continues when no request waits any more.
    private(set) var isChecking = false

    /// Notes damaged messages that a reader has skipped.
    ///
    /// - Returns: Whether some of them were not known. False if too many ranges are known already.
    mutating func noteDamage(_ sequences: [UInt64]) -> Bool {
        guard damagedRanges.count < LogFindings.maximumRanges else { return false }
        var isNew = false
        for sequence in sequences {
            if damagedRanges.insert(sequence, limit: LogFindings.maximumRanges) { isNew = true }
        }
        return isNew
    }

    /// Adds a request for a full check.
    ///
    /// - Returns: Whether to ask the store. Otherwise, the request gets the result of the check that is under way.
    mutating func add(_ request: Request) throws(WireError) -> Bool {
        guard waiting.count < Self.maximumRequests else {
            throw WireError(.limitReached, "\(Self.maximumRequests) requests wait for a check of the log")
        }
        waiting.append(request)
        defer { isChecking = true }
        return !isChecking
    }

    /// Records the result of the store's check. Returns the requests to answer.
    mutating func finished(_ findings: LogFindings) -> [Request] {
        isChecking = false
        damagedRanges = findings.damagedRanges
        (problems, problemCount) = (findings.problems, findings.problemCount)
        return removeAll()
    }

    mutating func removeAll() -> [Request] {
        defer { waiting = [] }
        return waiting
    }

    mutating func connectionEnded(_ id: ConnectionID) {
        waiting.removeAll { $0.connection == id }
    }
}

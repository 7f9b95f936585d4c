import NotifyLog
import NotifyWire

/// The known damage of the log, and the requests that wait until the store has checked all of it.
struct LogChecks {
    struct Request {
        var connection: ConnectionID
        var request: UInt64
    }

    /// The most requests that wait at the same time.
    static let maximumRequests = 8

    /// The listed ranges of damaged messages.
    private(set) var damagedRanges: [SequenceRange] = []
    /// The number of damaged messages that the last full check has found and that are not listed.
    private var unlisted: UInt64 = 0
    /// Parts of the log that have become empty during a check.
    private var emptied: [SequenceRange] = []
    /// The problems that the last full check has found.
    private(set) var problems: [LogProblem] = []
    private(set) var problemCount: UInt64 = 0
    private(set) var waiting: [Request] = []
    /// The requests that wait for the outcome of an empty commit.
    private var probes: [Request] = []
    /// Whether the store is checking. This continues when no request waits any more.
    private(set) var isChecking = false

    /// Notes damaged messages that a reader has skipped.
    ///
    /// - Returns: Whether some of them were not known. False if too many ranges are known already.
    mutating func noteDamage(_ sequences: [UInt64]) -> Bool {
        let known = damagedRanges.sequenceCount
        for sequence in sequences { damagedRanges.insert(sequence, limit: LogFindings.maximumRanges) }
        return damagedRanges.sequenceCount > known
    }

    /// The number of damaged messages that are known.
    var damagedMessages: UInt64 { damagedRanges.sequenceCount + unlisted }

    /// Forgets damaged messages in a range that contains no messages any more.
    mutating func forget(_ range: SequenceRange) {
        damagedRanges.subtract(range)
        if isChecking, emptied.count < LogFindings.maximumRanges { emptied.append(range) }
    }

    /// Forgets all damage, because a new log has replaced the old one.
    mutating func logReplaced() {
        (damagedRanges, unlisted) = ([], 0)
        (problems, problemCount) = ([], 0)
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

    /// Adds a request that waits for the outcome of an empty commit.
    ///
    /// - Returns: Whether it is the first one, so that the commit must be requested.
    mutating func addProbe(_ request: Request) throws(WireError) -> Bool {
        guard probes.count < Self.maximumRequests else {
            throw WireError(.limitReached, "\(Self.maximumRequests) requests wait for a check of the log")
        }
        probes.append(request)
        return probes.count == 1
    }

    mutating func takeProbes() -> [Request] {
        defer { probes = [] }
        return probes
    }

    /// Records the result of the store's check. Returns the requests to answer.
    mutating func finished(_ findings: LogFindings) -> [Request] {
        isChecking = false
        damagedRanges = findings.damagedRanges
        unlisted = findings.damagedMessages - min(findings.damagedMessages, damagedRanges.sequenceCount)
        for range in emptied { damagedRanges.subtract(range) }
        emptied = []
        (problems, problemCount) = (findings.problems, findings.problemCount)
        return removeAll()
    }

    mutating func removeAll() -> [Request] {
        defer { waiting = [] }
        return waiting
    }

    /// Whether a request of the connection waits for an answer.
    func isAwaited(by connection: ConnectionID) -> Bool {
        waiting.contains { $0.connection == connection } || probes.contains { $0.connection == connection }
    }

    mutating func connectionEnded(_ id: ConnectionID) {
        waiting.removeAll { $0.connection == id }
        probes.removeAll { $0.connection == id }
    }
}

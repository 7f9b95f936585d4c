/// The schedule of a live view's requests, and the reason why no reports arrive.
struct RequestPace: Sendable {
    /// The number of intervals after which a missing answer is reported.
    private static let toleratedIntervals = 3

    /// The reason to show while the daemon does not answer.
    static let unanswered = "waiting for the answer of notifyd"

    /// The reason why no reports arrive, for the status line; nil if reports arrive.
    private(set) var failure: String?
    private var isPending = false
    /// The number of intervals that have passed since the pending request was sent.
    private var missedIntervals = 0

    /// Counts an interval.
    ///
    /// - Returns: Whether to send a request.
    mutating func intervalPassed() -> Bool {
        guard isPending else { return begin() }
        missedIntervals += 1
        if missedIntervals >= Self.toleratedIntervals { failure = Self.unanswered }
        return false
    }

    /// Begins a request, unless one is pending.
    ///
    /// - Returns: Whether to send a request.
    mutating func begin() -> Bool {
        guard !isPending else { return false }
        (isPending, missedIntervals) = (true, 0)
        return true
    }

    mutating func answered() { (isPending, failure) = (false, nil) }

    mutating func failed(_ reason: String) { (isPending, failure) = (false, reason) }
}

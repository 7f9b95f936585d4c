import NotifyLog

/// Whether storage works, as far as commits and pages have shown.
struct StorageHealth {
    /// A commit or page that takes longer than this indicates trouble with the disk.
    static let longestSilence = Duration.seconds(10)

    /// Why storage is considered failed; nil while it works.
    private(set) var failure: StorageFailure?

    /// The same for people.
    var problem: String? { failure?.message }
    var isFailing: Bool { failure != nil }

    /// Notes that storage works (nil) or why it fails. Returns whether that is news.
    mutating func set(_ failure: StorageFailure?) -> Bool {
        guard self.failure != failure else { return false }
        self.failure = failure
        return true
    }

    /// When a store that was asked at `started` and has not answered is considered failed.
    func silenceDeadline(since started: Duration?) -> Duration? {
        guard !isFailing, let started else { return nil }
        return started + Self.longestSilence
    }
}

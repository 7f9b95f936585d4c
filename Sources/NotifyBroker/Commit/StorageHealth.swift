/// Whether storage works, as far as commits and pages have shown.
struct StorageHealth {
    /// A commit or page that takes longer than this indicates trouble with the disk.
    static let longestSilence = Duration.seconds(10)

    /// Why storage is considered failed, for people; nil while it works.
    private(set) var problem: String?

    var isFailing: Bool { problem != nil }

    /// Notes that storage works (nil) or why it fails. Returns whether that is news.
    mutating func set(_ problem: String?) -> Bool {
        guard self.problem != problem else { return false }
        self.problem = problem
        return true
    }

    /// When a store that was asked at `started` and has not answered is considered failed.
    func silenceDeadline(since started: Duration?) -> Duration? {
        guard !isFailing, let started else { return nil }
        return started + Self.longestSilence
    }
}

import NotifyLog

/// Whether storage works, judged by the latest commits and pages.
struct StorageHealth {
    /// How long a commit or a page may take before storage is considered failed.
    static let responseTimeout = Duration.seconds(10)

    /// Why storage is considered failed; nil while it works.
    private(set) var failure: StorageFailure?

    /// The failure's message, for users.
    var problem: String? { failure?.message }
    var isFailing: Bool { failure != nil }

    /// Sets why storage fails; nil if it works. Returns whether that changed.
    mutating func set(_ failure: StorageFailure?) -> Bool {
        guard self.failure != failure else { return false }
        self.failure = failure
        return true
    }

    /// When a store that has not answered a request made at `started` is considered failed.
    func responseDeadline(since started: Duration?) -> Duration? {
        guard !isFailing, let started else { return nil }
        return started + Self.responseTimeout
    }
}

import NotifyLog

/// The health of storage. It is considered failed once a commit or a page read fails or is late, until a commit
/// succeeds.
struct StorageHealth {
    /// The time limit of a commit or a page read. When it has passed, storage is considered failed.
    static let responseTimeout = Duration.seconds(10)

    /// The reason why storage is considered failed; nil while it works.
    private(set) var failure: StorageFailure?

    /// The failure's message, for users.
    var problem: String? { failure?.message }
    var isFailing: Bool { failure != nil }

    /// Sets the reason why storage fails; nil if it works.
    ///
    /// - Returns: Whether the reason changed.
    mutating func set(_ failure: StorageFailure?) -> Bool {
        guard self.failure != failure else { return false }
        self.failure = failure
        return true
    }

    /// The time at which storage is considered failed if a request made at `started` is still unanswered; nil if there
    /// is no request or storage is already considered failed.
    func responseDeadline(since started: Duration?) -> Duration? {
        guard !isFailing, let started else { return nil }
        return started + Self.responseTimeout
    }
}

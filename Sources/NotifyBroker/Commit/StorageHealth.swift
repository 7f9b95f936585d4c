import NotifyLog

/// The health of storage. Storage counts as failed when work of the store fails, or when a commit or read is late. The
/// next successful commit ends this state.
struct StorageHealth {
    /// The time limit of a commit or read. If it takes longer, storage counts as failed.
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

    /// The time by which the store must answer a request made at `started`. Nil if there is no request, or if storage
    /// is already considered failed.
    func responseDeadline(since started: Duration?) -> Duration? {
        guard !isFailing, let started else { return nil }
        return started + Self.responseTimeout
    }
}

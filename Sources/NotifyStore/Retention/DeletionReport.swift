import NotifyLog

/// The deletions and file sizes that wait to be reported.
struct DeletionReport: ~Copyable {
    /// The shortest time between two reports of the sizes of the files.
    private static let interval = Duration.seconds(1)

    /// Nil if there is nothing to report. Most commits delete nothing, and nil costs them less than an empty
    /// `Deletion`.
    private var unreported: Deletion?
    /// The sizes of the files at the last call of ``note(_:)``, and the time of that call. (Commits report the sizes
    /// themselves.)
    private var sizes = LogFiles.Sizes()
    private var sizesReported: ContinuousClock.Instant?

    /// The deletions that are not yet reported.
    var deletion: Deletion {
        get { unreported ?? Deletion() }
        _modify {
            var deletion = unreported.take() ?? Deletion()
            defer { unreported = deletion }
            yield &deletion
        }
    }

    /// Takes the deletions since the last call; nil if there are none.
    mutating func take(with statistics: StoreStatistics) -> Deletion? {
        guard unreported != nil, !deletion.isEmpty else { return nil }
        deletion.statistics = statistics
        return unreported.take()
    }

    /// Whether the sizes of the files are to be measured and noted: always at the end of a pass of retention
    /// (`isFinal`), otherwise once per second.
    func areSizesDue(isFinal: Bool) -> Bool {
        isFinal || sizesReported.map { ContinuousClock.now - $0 >= Self.interval } ?? true
    }

    /// Notes the sizes of the files.
    ///
    /// - Returns: Whether the sizes have changed since the last call.
    mutating func note(_ sizes: LogFiles.Sizes) -> Bool {
        defer { (self.sizes, sizesReported) = (sizes, .now) }
        return sizes != self.sizes
    }
}

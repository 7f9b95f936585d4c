import NotifyLog
import NotifySystem
import NotifyWire

/// Running although the content of the log is damaged. Only the log's state, its subscriptions and its highest sequence
/// are read; posts and subscriptions that need the log are refused.
extension CurrentLog {
    /// The number of sequences to skip above the highest one found, if the log's state can't be read: more than a log
    /// reserves at a time.
    static let skippedSequences: UInt64 = 1 << 40

    /// Recovers the state that the daemon needs to run without the damaged log: a sequence that was never used, and the
    /// sound subscriptions. The daemon refuses posts that match a subscription, because it can't store them. If some
    /// subscriptions can't be read, the daemon must refuse every post of automatic durability, because an unread
    /// subscription could match it.
    func recoverFromDamage(_ error: StoreError) -> RecoveredLog {
        let failure = StorageFailure(damaged: path, error.message)
        corruption = failure
        var recovered = recoverWithoutLog()
        if let found = try? DamagedLog(path: path) {
            recovered.subscriptions = found.subscriptions
            recovered.isMissingSubscriptions = !found.hasAllSubscriptions
            recovered.nextSubscriptionID = found.nextSubscriptionID
            recovered.epoch = found.epoch
            recovered.nextSequence = max(recovered.nextSequence, found.nextSequence)
        } else {
            recovered.isMissingSubscriptions = true
            recovered.nextSequence = max(recovered.nextSequence, Self.skippedSequences)
        }
        recovered.persistedThrough = recovered.nextSequence - 1
        recovered.failure = failure
        return recovered
    }
}

/// The state and the subscriptions of a log whose content is damaged, as far as they can be read.
struct DamagedLog {
    private(set) var subscriptions: [DurableRecord] = []
    /// Whether every subscription could be read.
    private(set) var hasAllSubscriptions = false
    /// A sequence above all that were used.
    private(set) var nextSequence: UInt64 = 1
    private(set) var nextSubscriptionID = DurableID(1)
    /// The epoch of the log; 0 if it can't be read.
    private(set) var epoch: UInt64 = 0

    /// Reads the database. Changes neither the database nor its write-ahead log.
    init(path: String) throws {
        let connection = try DatabaseConnection(reading: path)
        defer { connection.close() }
        let tables = try LogSchema(version: Schema.version).readableTables(in: connection)
        func statement(_ sql: String, reading names: String...) -> PreparedStatement? {
            tables.isSuperset(of: names) ? try? PreparedStatement(connection, sql) : nil
        }
        if let rows = statement(SubscriptionRow.select(), reading: "subscriptions", "losses") {
            readSubscriptions(rows)
        }
        let highest = [
            statement("SELECT max(sequence) FROM messages", reading: "messages"),
            statement("SELECT max(last) FROM segments", reading: "segments"),
            statement("SELECT max(sequence) FROM retained", reading: "retained"),
            statement("SELECT max(max(cursor, seen_through)) FROM subscriptions", reading: "subscriptions"),
        ]
        .compactMap { try? $0?.number() }.filter { $0 < Limits.sequenceEnd / 2 }.max()
        let row = statement("SELECT \(StateRow.columns) FROM state", reading: "state")
        if let row, (try? row.step()) ?? false, let state = StateRow(row) {
            nextSequence = Self.nextSequence(after: highest ?? 0, state)
            nextSubscriptionID = DurableID(UInt32(clamping: state.nextSubscription))
            epoch = state.epoch
        } else {
            nextSequence = Self.nextSequence(after: highest ?? 0, nil)
        }
        if let last = subscriptions.last?.id, last >= nextSubscriptionID {
            nextSubscriptionID = DurableID(last.rawValue + 1)
        }
    }

    /// A sequence above all that were used.
    ///
    /// - Parameters:
    ///   - highest: The highest sequence found.
    ///   - state: The log's state; nil if it can't be read.
    static func nextSequence(after highest: UInt64, _ state: StateRow?) -> UInt64 {
        guard let state else { return min(highest + CurrentLog.skippedSequences, Limits.sequenceEnd - 1) }
        return max(state.isClean ? state.nextSequence : state.reservedThrough, highest + 1)
    }

    /// Reads the subscriptions up to the first page of the database that can't be read.
    private mutating func readSubscriptions(_ rows: PreparedStatement) {
        hasAllSubscriptions = true
        do {
            while try rows.step() {
                if let record = SubscriptionRow.record(in: rows) {
                    subscriptions.append(record)
                } else {
                    hasAllSubscriptions = false
                }
            }
        } catch {
            hasAllSubscriptions = false
        }
    }
}

extension StorageFailure {
    /// The failure of each request that needs the damaged log.
    init(damaged path: String, _ problem: String) {
        self.init(
            kind: .damaged,
            message:
                "the log '\(path)' is damaged (\(problem)): stop notifyd, and run \"notifyd --repair '\(path)'\", which "
                + "keeps the sound data, or \"notifyd --restore FILE\" with a backup, or move the database and its write-ahead log "
                + "away for a new, empty log; then start notifyd")
    }
}

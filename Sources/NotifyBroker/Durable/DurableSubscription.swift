import NotifyLog
import NotifyWire

/// A durable subscription: its filter, settings, cursor and redeliveries, which are persisted, and the attached
/// members. A pure state machine.
///
/// An exclusive subscription has at most one member at a time, a group several. A log reader delivers each message to
/// one member for the first time. A message that fails moves from the cursor to the redeliveries.
struct DurableSubscription {
    enum State: Equatable {
        case detached
        /// The attachment is not committed yet. No messages are delivered.
        case attaching
        case attached
        /// The removal is pending.
        case removing
    }

    let id: DurableID
    let name: String
    private(set) var filter: SubscriptionFilter
    private(set) var settings: DurableSettings
    let uid: UInt32
    /// The sequence after which the subscription began. Also 0 if the start is unknown.
    private(set) var startedAfter: UInt64
    let createdMicroseconds: UInt64
    /// The committed attachment of the client that attached last.
    var lastAttachment: LastAttachment
    /// The id of the registration in the center. Ids ascend, so a later subscription in the same slot has a higher id.
    var registration: UInt64 = 0
    /// The known identities that have attached. A message that none of them may receive is skipped.
    var identities: AttachedIdentities
    /// Whether no member with room was permitted to receive any of the due redeliveries when these were last examined.
    /// If so, first deliveries do not wait for the redeliveries.
    var areRedeliveriesWithheld = false
    /// The log reader, while a client is attached.
    var reader: ReaderID?

    private(set) var losses: LossRecord
    /// The change whose commit is pending. It has already taken effect.
    private(set) var pendingChange: PendingChange?

    /// Whether the commit of a change of the sharing is pending. The change has already taken effect.
    private(set) var isSharingPending = false
    private var isRemoving = false
    /// Whether the subscription is in the log: its creation is committed.
    var isCreated = false
    // A leading underscore: for the files of this type only.
    var _cursor: Cursor
    var _redeliveries: Redeliveries
    var _members = Members()
    /// The number of attachments whose commits are pending, including those of clients that have ended since.
    var pendingAttachments = 0
    /// Members that have ended while messages of theirs must still move to the redeliveries.
    var endedMembers = EndedMembers()
    var earlierDeadlines = EarlierDeadlines()
    /// The last delivery that failed; nil if none is known.
    var lastFailure: DurableDescription.Failure?
    /// The number of first deliveries that are still allowed while a redelivery is due. Each redelivery allows one more,
    /// so that both kinds alternate in equal parts.
    var firstDeliveries = 0
    /// The time for which a timer is set; nil if none is.
    var timer: Duration?
    /// The footprint as of the last `charge`.
    private(set) var charged = Footprint()

    /// - Parameter identities: The owners of the record.
    init(_ record: DurableRecord, redeliveries: Redeliveries = Redeliveries(), identities: [IdentityID]) {
        id = record.id
        name = record.name
        filter = record.filter
        settings = record.settings
        uid = record.owner.uid
        startedAfter = record.startedAfter
        createdMicroseconds = record.createdMicroseconds
        lastAttachment = record.lastAttachment
        self.identities = AttachedIdentities(identities)
        _cursor = Cursor(record.progress)
        _redeliveries = redeliveries
        losses = LossRecord(record.loss)
    }

    var state: State {
        if isRemoving { return .removing }
        if _members.isEmpty { return .detached }
        return _members.hasCommitted ? .attached : .attaching
    }

    /// The identity that attached last. Its limits apply.
    var owner: IdentityID { identities.latest }

    /// The progress to persist.
    @inline(__always)
    var progress: DurableProgress { _cursor.progress(isAttached: !_members.isEmpty) }

    /// Adds the progress that a batch persists.
    mutating func takeProgress(into batch: inout UnsavedProgress, now: Duration) {
        batch.changes.append(.update(id: id, progress))
        if _redeliveries.hasUnsaved {
            let unsaved = _redeliveries.takeUnsaved(of: id, now: now)
            batch.changes += unsaved.changes
            batch.redeliveries[id] = unsaved
        }
        if let loss = losses.takeUnsaved() {
            batch.changes.append(.addLoss(id: id, loss))
            batch.losses[id] = loss
        }
        if let passed = passedLoss {
            batch.changes.append(.forgetLoss(id: id, passed.loss))
            batch.passedLosses.append(passed)
        }
    }

    /// Identifies the committed cursor for clients. Changes when the subscription is removed and created again, and
    /// when the cursor is reset.
    var generation: UInt64 { UInt64(id.rawValue) << 32 | UInt64(committedCursor.generation) }

    // MARK: Memory

    /// The memory of a subscription without its filter, cursor and redeliveries, in bytes.
    private static let ownBytes = 1024
    private static let memberBytes = 256

    /// Sets the charge to the present use.
    ///
    /// - Returns: The change of the charge.
    mutating func charge() -> Footprint {
        var use = Footprint(
            memory: Self.ownBytes + filter.byteCount + _cursor.byteCount + _members.count * Self.memberBytes
                + (pendingChange?.byteCount ?? 0) + (lastFailure?.reason.utf8.count ?? 0))
        if !_redeliveries.isEmpty || _redeliveries.unsavedCount > 0 {
            use.memory += _redeliveries.byteCount
            use.copies = _redeliveries.bytes
            (use.unsavedRows, use.unsavedBytes) = (_redeliveries.unsavedCount, _redeliveries.uncopiedBytes)
        }
        defer { charged = use }
        return use - charged
    }

    // MARK: Removal

    mutating func removalRequested() throws(WireError) {
        switch state {
        case .detached:
            isRemoving = true
        case .removing:
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed already")
        case .attaching, .attached:
            throw WireError(
                .subscriptionInUse,
                "durable subscription '\(name)' is held by \(holders) first, or use 'notifyctl durable remove \(name) "
                    + "--force'")
        }
    }

    mutating func removalFailed() {
        isRemoving = false
    }

    // MARK: Changing

    /// Whether a change is pending that is not in the log yet, including a change of the sharing and the removal.
    var isChanging: Bool { isRemoving || pendingChange != nil || isSharingPending }

    /// - Throws: `subscriptionInUse` if another change is pending.
    func checkChangeable() throws(WireError) {
        if isRemoving {
            throw WireError(.subscriptionInUse, "durable subscription '\(name)' is being removed")
        }
        guard !isChanging else {
            throw WireError(
                .subscriptionInUse, "durable subscription '\(name)' is being changed; try again later")
        }
    }

    /// Moves the cursor and begins a new generation without acknowledgements, losses and redeliveries. No client may be
    /// attached.
    mutating func reset(to position: UInt64) {
        // Ended members are not part of the pending change. So their messages are given back now, in case the commit
        // fails and the earlier state is restored.
        giveBackAll()
        pendingChange = .reset(_cursor, _redeliveries, losses, startedAfter: startedAfter)
        _cursor = _cursor.reset(to: position)
        _redeliveries = Redeliveries()
        losses = LossRecord(nil)
        startedAfter = min(startedAfter, position)
    }

    /// Replaces the filter. No client may be attached.
    ///
    /// An earlier version of the daemon persisted acknowledged ranges that include messages that did not match. If it
    /// created the subscription, the acknowledged messages above the cursor are delivered again.
    mutating func edit(to filter: SubscriptionFilter) {
        pendingChange = .edit(self.filter)
        self.filter = filter
        if createdMicroseconds == 0 { _cursor.forgetRanges() }
    }

    /// Replaces the settings.
    mutating func configure(_ settings: DurableSettings) {
        pendingChange = .settings(self.settings)
        change(to: settings)
    }

    /// Messages that were delivered before keep their deadlines.
    private mutating func change(to settings: DurableSettings) {
        if settings.deadlineMicroseconds != self.settings.deadlineMicroseconds, !_cursor.inFlight.isEmpty {
            earlierDeadlines.changed(
                from: self.settings.deadlineMicroseconds, deliveredThrough: _cursor.passedThrough)
        }
        self.settings = settings
    }

    /// Changes how the subscription is shared. No client may be attached.
    mutating func share(_ sharing: DurableSharing) {
        change(to: settings.shared(sharing))
        isSharingPending = true
    }

    /// Ends the pending change of the sharing. If its commit failed, the earlier settings are restored.
    mutating func sharingEnded(restoring earlier: DurableSettings? = nil) {
        isSharingPending = false
        if let earlier { change(to: earlier) }
    }

    /// The cursor as in the log, apart from progress.
    var committedCursor: Cursor {
        if case .reset(let earlier, _, _, _)? = pendingChange { earlier } else { _cursor }
    }

    /// Ends the pending change. If its commit failed, the replaced values are restored.
    mutating func changeEnded(succeeded: Bool) {
        switch succeeded ? nil : pendingChange {
        case .reset(let earlier, let earlierRedeliveries, let earlierLosses, let earlierStart):
            (_cursor, _redeliveries) = (earlier, earlierRedeliveries)
            (losses, startedAfter) = (earlierLosses, earlierStart)
        case .edit(let earlier): filter = earlier
        case .settings(let earlier): change(to: earlier)
        case nil: break
        }
        pendingChange = nil
    }

    // MARK: Redeliveries

    /// Changes the redeliveries to which an answer of the store belongs: those from before a pending reset if there is
    /// one, otherwise the current ones.
    mutating func _updateStoredRedeliveries(_ change: (inout Redeliveries) -> Void) {
        if case .reset(let earlier, var rows, let losses, let start)? = pendingChange {
            change(&rows)
            pendingChange = .reset(earlier, rows, losses, startedAfter: start)
        } else {
            change(&_redeliveries)
        }
    }

    // MARK: Losses

    /// The losses of the committed cursor's generation.
    var committedLosses: LossRecord {
        if case .reset(_, _, let earlier, _)? = pendingChange { earlier } else { losses }
    }

    /// Changes the loss of a generation of the cursor: the current generation, or the one before a pending reset.
    mutating func changeLosses(of generation: UInt32, _ change: (inout LossRecord) -> Void) {
        if generation == _cursor.generation {
            change(&losses)
        } else if case .reset(let earlier, let rows, var losses, let start) = pendingChange,
            earlier.generation == generation
        {
            change(&losses)
            pendingChange = .reset(earlier, rows, losses, startedAfter: start)
        }
    }

    /// Skips the messages up to a sequence, as if all of them were acknowledged, for a generation of the cursor.
    mutating func released(through sequence: UInt64, generation: UInt32) {
        if generation == _cursor.generation {
            for (id, skipped) in _cursor.released(through: sequence) {
                if let index = _members.index(of: id) { _members.update(index) { $0.released(skipped) } }
            }
        } else if case .reset(var earlier, let rows, let losses, let start) = pendingChange,
            earlier.generation == generation
        {
            _ = earlier.released(through: sequence)
            pendingChange = .reset(earlier, rows, losses, startedAfter: start)
        }
    }
}

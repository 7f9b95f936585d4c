import NotifyLog
import NotifyWire

/// Posts that are kept as values.
extension Broker {
    /// Processes a post that is kept as the value of its name and object. The message and the value are committed
    /// together.
    mutating func setValueReceived(_ frame: FrameDecoder.Frame, from slot: ConnectionSlot, now: BrokerTime) {
        do throws(WireError) {
            var request = try SetValue(frame)
            if logs(.trace) { logPost(request.post, from: slot) }
            try connections.requestReceived(request.post.request, from: slot)
            if case .automatic = request.post.durability { request.post.durability = .stored }
            try setValue(request, from: slot, now: now)
        } catch {
            if !recorder.monitors.isEmpty, let post = try? SetValue(frame).post {
                recordRefused(post, from: slot, error, now: now)
            }
            reject(slot, request: Post.request(of: frame), error, now: now)
        }
    }

    private mutating func setValue(_ request: SetValue, from slot: ConnectionSlot, now: BrokerTime) throws(WireError) {
        let post = request.post
        guard post.durability != .volatile else {
            throw WireError(.invalidArgument, "a value is always stored: choose the durability 'stored' or 'synced'")
        }
        let admission = try admit(post, from: slot)
        let name = ValueName(name: post.parts.name, object: post.parts.object)
        if let holder = announcer(of: name.key, now: now) { return refuse(post, becauseOf: holder, slot, now: now) }
        let record = values.find(name.key)
        let current = values.current(record)
        guard current.meets(request.ifSequence) else {
            if !recorder.monitors.isEmpty { recordRefused(post, from: slot, .valueChanged(current), now: now) }
            return try refuseChanged(name.key, slot, request: post.request)
        }
        let bytes = StoredValue.bytes(
            name: post.parts.name.count, object: post.parts.object.count, headers: post.parts.headers.count,
            payload: post.parts.payload.count)
        let uid = connections[slot].uid
        try checkRoom(forBytes: bytes, replacing: current, uid: uid)
        let receipt = try accept(post, admission, from: slot, now: now)
        let value = ValueEntry(sequence: receipt.sequence, uid: uid, bytes: bytes)
        charge(values.change(name, record, to: value, isConditional: request.ifSequence != nil))
    }

    /// Charges users for changes of their values.
    mutating func charge(_ replacements: some Sequence<ValueReplacement>) {
        for replacement in replacements { charge(replacement) }
    }

    mutating func charge(_ replacement: ValueReplacement) {
        let (old, new) = (replacement.old, replacement.new)
        // Most values are replaced by the same user, and many by one of the same size, which needs no change at all.
        if let old, let new, old.uid == new.uid {
            ledger.change(.values, by: new.count - old.count, uid: new.uid)
            return ledger.change(.valueBytes, by: new.bytes - old.bytes, uid: new.uid)
        }
        if let old {
            ledger.change(.values, by: -old.count, uid: old.uid)
            ledger.change(.valueBytes, by: -old.bytes, uid: old.uid)
        }
        if let new {
            ledger.change(.values, by: new.count, uid: new.uid)
            ledger.change(.valueBytes, by: new.bytes, uid: new.uid)
        }
    }

    /// - Throws: `limitReached` if the user, or all users together, would have too many values or bytes of values.
    // Mutating: the call of a method that only reads copies the broker's 4.6 KiB before the call.
    private mutating func checkRoom(
        forBytes bytes: Int, replacing old: ValueEntry?, uid: UInt32
    ) throws(WireError) {
        let own = old?.uid == uid ? old : nil
        try ledger.check(.values, adding: 1 - (own?.count ?? 0), uid: uid)
        try ledger.check(.valueBytes, adding: bytes - (own?.bytes ?? 0), uid: uid)
        let limit = configuration.valueBytes
        let added = bytes - (old?.bytes ?? 0)
        guard added <= 0 || values.totalBytes + added <= limit else {
            throw WireError(
                .limitReached,
                "all values together take \(values.totalBytes) bytes, and the limit is \(limit), a quarter of "
                    + "log.max_bytes; clear values that are not needed")
        }
    }

    // MARK: Conditions

    /// Refuses a change whose condition is not met. If the present value is not committed yet, the refusal waits for
    /// the outcome of its batch: otherwise a client could learn a sequence that the log does not have after a crash.
    mutating func refuseChanged(_ key: ValueKey, _ slot: ConnectionSlot, request: UInt64) throws(WireError) {
        let current = values.current(key)
        guard values.isUncertain(key) else {
            return refuse(slot, request: request, .valueChanged(current), detail: current.sequence)
        }
        try checkAnswerRoom(slot)
        answerLater(.valueRefused(connections[slot].id, request: request, current: current.sequence), key, slot)
    }
}

extension ValueEntry? {
    /// The sequence that a condition compares: that of the value, or 0 if there is none.
    var sequence: UInt64 { self.map { $0.isCleared ? 0 : $0.sequence } ?? 0 }

    /// Whether this is the value that a condition expects.
    func meets(_ ifSequence: UInt64?) -> Bool { ifSequence.map { $0 == sequence } ?? true }
}

extension WireError {
    static func valueChanged(_ current: ValueEntry?) -> WireError { valueChanged(to: current.sequence) }

    static func valueChanged(to sequence: UInt64) -> WireError {
        WireError(
            .valueChanged,
            sequence == 0
                ? "there is no value of this name and object"
                : "the value has sequence \(sequence), not the expected one: read it again")
    }
}

import NotifyWire

/// The announced values that a watch has reported. They end with the run of the daemon.
struct AnnouncedValues {
    /// The stamps of the messages that announced the values.
    private var stamps: [AnnouncedName: Stamp] = [:]
    /// The sequences of the values that have ended with a run of the daemon.
    private var ended: [AnnouncedName: UInt64] = [:]

    /// The event that reports a change; nil if the change clears an announced value that was not reported, or is older
    /// than the reported value.
    mutating func event(_ message: NotificationClient.Message) -> NotificationClient.ValueEvent? {
        let name = AnnouncedName(name: message.name, object: message.object)
        // The announced value was read by key. This is the clear of the stored value before it.
        if let known = stamps[name]?.sequence ?? ended[name], message.sequence < known { return nil }
        guard let reason = message.clearedReason else {
            stamps[name] = message.isEphemeral ? message.stamp : nil
            return .value(message)
        }
        let wasReported = stamps.removeValue(forKey: name) != nil
        let isStored = reason == ClearedHeader.Reason.cleared.rawValue
        return wasReported || isStored ? .cleared(message) : nil
    }

    /// Forgets all values.
    ///
    /// - Returns: For each value, a message as if its connection had ended.
    mutating func removeAll() -> [NotificationClient.Message] {
        let all = stamps.sorted { $0.value.sequence < $1.value.sequence }
        for (name, stamp) in all { ended[name] = stamp.sequence }
        stamps = [:]
        return all.map { name, stamp in
            .init(stamp, name: name.name, object: name.object ?? "", headers: ClearedHeader.encoded(.disconnected))
        }
    }

    /// Must be called when every change of stored values up to a sequence was reported.
    mutating func storedChangesEnded(at sequence: UInt64) {
        if !ended.isEmpty { ended = ended.filter { $0.value > sequence } }
    }
}

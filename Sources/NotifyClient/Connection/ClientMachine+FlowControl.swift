import NotifyWire

extension ClientMachine {
    /// Whether to read from the connection. While reading is paused, the daemon buffers messages up to its own limit,
    /// and then follows the overflow policy.
    ///
    /// Reading continues during a detach or shutdown, because the daemon's confirmation follows the unread messages.
    var readsConnection: Bool {
        !flow.pausesReading || !connection.isReady || subscriptions.isAnyDetaching || shutdown != nil
    }

    /// Must be called when the buffer of a subscription has paused or resumed reading, or has dropped messages.
    mutating func bufferChanged(_ buffer: DeliveryBuffer, now: Duration) {
        guard let entry = subscriptions[buffer.number], entry.buffer === buffer, entry.phase == .live else { return }
        flow.changed(buffer, now: now)
    }

    mutating func takeDropped() -> UInt64 {
        defer { dropped = 0 }
        return dropped
    }

    mutating func writeDropReports() {
        guard !flow.unreported.isEmpty else { return }
        for number in flow.takeReports().sorted() {
            if let entry = subscriptions[number] { writeDropReport(of: entry.buffer) }
        }
    }

    /// Reports the messages that a buffer dropped since the last report. The subscription must be attached.
    mutating func writeDropReport(of buffer: DeliveryBuffer) {
        let count = buffer.takeUnreportedDrops()
        dropped += count
        if count > 0 { Dropped(subscription: buffer.number, messages: count).write(to: &outgoing) }
    }
}

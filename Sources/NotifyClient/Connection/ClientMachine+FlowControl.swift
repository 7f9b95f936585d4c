import NotifyWire

extension ClientMachine {
    /// Whether the connection is read from. Where it is not, the daemon keeps messages, and drops them beyond its own limit.
    ///
    /// Reading goes on while a detach or the end of the client waits for the daemon's confirmation, which is behind the
    /// messages that were held back.
    var readsConnection: Bool {
        !flow.holdsBack || !link.isReady || subscriptions.isAnyDetaching || shutdown != nil
    }

    /// The buffer of a subscription began or ceased to hold back, or dropped messages.
    mutating func bufferChanged(_ buffer: DeliveryBuffer, now: Duration) {
        guard let entry = subscriptions[buffer.number], entry.buffer === buffer, entry.phase == .live else { return }
        flow.changed(buffer, now: now)
    }

    mutating func writeDropReports() {
        guard !flow.dropping.isEmpty else { return }
        for number in flow.takeReports().sorted() {
            if let entry = subscriptions[number] { writeDropReport(of: entry.buffer) }
        }
    }

    /// Reports the messages that a buffer dropped since the last report. The daemon has to know the subscription.
    mutating func writeDropReport(of buffer: DeliveryBuffer) {
        let count = buffer.takeUnreportedDrops()
        if count > 0 { Dropped(subscription: buffer.number, messages: count).write(to: &outgoing) }
    }
}

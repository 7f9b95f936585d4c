import NotifyWire

/// Pages of the log and of values.
extension ClientMachine {
    /// Handles the header of a page. The messages of the page follow.
    mutating func pageBegan(
        _ header: some PageHeader, _ frame: FrameDecoder.Frame, now: () -> Duration, _ effects: inout Effects
    ) throws(WireError) {
        try replyReceived(frame, now: now, &effects)
        router.begin(header)
    }

    mutating func pageReceived(_ request: UInt64, _ batch: MessageBatch, _ effects: inout Effects) {
        let isComplete = requests.update(request) { $0.updateCall { $0.received(batch, &effects) } ?? false }
        if isComplete == true { _ = requests.take(request) }
    }
}
